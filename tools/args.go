package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"edge/internal/canon"
	"edge/internal/digest"
	"edge/internal/fault"
)

// NewCall makes a call from arguments written anyhow as JSON. Numbers get their one canonical text here (3.0 becomes
// 3); what has none, such as an integer beyond ±(2^53−1), is invalid_tool_args and names the parameter.
func NewCall(toolName string, arguments []byte) (Call, error) {
	text, err := canon.Transform(arguments)
	if err != nil {
		name, why := blame(arguments, err)
		return Call{}, argsError(toolName, []finding{{name, why}})
	}
	if text[0] != '{' {
		v, err := decode(text)
		if err != nil {
			return Call{}, fmt.Errorf("new call: %w", err)
		}
		return Call{}, argsError(toolName, []finding{{nil, fmt.Sprintf("got %s, want an object", describe(v, true))}})
	}
	return Call{ToolName: toolName, Arguments: text}, nil
}

// ArgsSHA256 digests the canonical arguments.
func (c Call) ArgsSHA256() digest.SHA256 { return digest.SHA256Of(c.Arguments) }

// Validate reports unknown_tool or invalid_tool_args. Names are exact and nothing is converted: "3", 3.5, true and null
// aren't integers. The message says for each parameter what was got and what is wanted; Problems has them one by one.
func (s *ActiveSet) Validate(c Call) error {
	t := s.find(c.ToolName)
	if t == nil {
		return s.unknownTool(c.ToolName)
	}
	made, err := NewCall(c.ToolName, c.Arguments)
	if err != nil {
		return err
	}
	if !bytes.Equal(made.Arguments, c.Arguments) {
		// The digest of a call covers its text, so only one text per value may pass.
		return errors.New("validate: the arguments aren't canonical JSON; calls are made by NewCall or ParseReply")
	}
	value, err := decode(c.Arguments)
	if err != nil {
		return fmt.Errorf("validate: %w", err)
	}
	var list []finding
	if err := t.parameters.Validate(value); err != nil {
		var detail *jsonschema.ValidationError
		if !errors.As(err, &detail) {
			return fmt.Errorf("validate %s: %w", c.ToolName, err)
		}
		list = explain(detail, t.parameters, value, true)
	}
	list = append(list, largeIntegers(t.parameters, value, nil)...)
	if len(list) > 0 {
		return argsError(c.ToolName, list)
	}
	return nil
}

// Admits reports whether a canonical value is valid for one parameter.
func (s *ActiveSet) Admits(toolName, parameter string, value json.RawMessage) bool {
	t := s.find(toolName)
	if t == nil || t.parameters.Properties[parameter] == nil {
		return false
	}
	v, err := decode(value)
	return err == nil && t.parameters.Properties[parameter].Validate(v) == nil
}

func (s *ActiveSet) unknownTool(name string) *fault.Error {
	return fault.New(fault.CodeUnknownTool, "no active tool is called %q; the active tools are %s", clip(name), strings.Join(s.Names(), ", "))
}

// largeIntegers finds integers that only an exponent could write (1e30): they are integers to JSON Schema, but the
// function would get a float.
func largeIntegers(sch *jsonschema.Schema, v any, path []string) []finding {
	sch = branchOf(sch, v)
	if sch == nil {
		return nil
	}
	var list []finding
	switch v := v.(type) {
	case json.Number:
		if sch.Types == nil || !slices.Contains(sch.Types.ToStrings(), "integer") || slices.Contains(sch.Types.ToStrings(), "number") {
			return nil
		}
		if r, ok := new(big.Rat).SetString(v.String()); ok && r.Abs(r).Cmp(big.NewRat(canon.MaxInteger, 1)) > 0 {
			list = append(list, finding{path, fmt.Sprintf("got %s, want an integer within ±(2^53−1)", describe(v, true))})
		}
	case []any:
		for i, item := range v {
			part := sch.Items2020
			if i < len(sch.PrefixItems) {
				part = sch.PrefixItems[i]
			}
			list = append(list, largeIntegers(part, item, append(path[:len(path):len(path)], fmt.Sprint(i)))...)
		}
	case map[string]any:
		for _, name := range sortedKeys(v) {
			part := sch.Properties[name]
			if part == nil {
				part, _ = sch.AdditionalProperties.(*jsonschema.Schema)
			}
			list = append(list, largeIntegers(part, v[name], append(path[:len(path):len(path)], name))...)
		}
	}
	return list
}

// branchOf follows references, and of a union takes the last that the value follows, which of an integer and a number
// may be either. nil is a schema that the value doesn't follow.
func branchOf(sch *jsonschema.Schema, v any) *jsonschema.Schema {
	for depth := 0; sch != nil && depth < maxReferences; depth++ {
		union := slices.Concat(sch.AnyOf, sch.OneOf)
		switch {
		case sch.Ref != nil:
			sch = sch.Ref
		case len(sch.AllOf) == 1:
			sch = sch.AllOf[0]
		case len(union) > 0:
			fits := slices.DeleteFunc(union, func(b *jsonschema.Schema) bool { return b.Validate(v) != nil })
			if len(fits) == 0 {
				return nil
			}
			sch = fits[len(fits)-1]
		default:
			return sch
		}
	}
	return nil
}

// maxReferences bounds a chain of references, which could lead back to its start.
const maxReferences = 32

// blame finds the argument whose value made canonical JSON refuse the whole.
func blame(arguments []byte, err error) (path []string, why string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(arguments, &members) == nil {
		for _, name := range sortedKeys(members) {
			if memberErr := canon.Check(members[name]); memberErr != nil {
				return []string{name}, clip(strings.TrimPrefix(memberErr.Error(), "json: "))
			}
		}
	}
	return nil, clip(strings.TrimPrefix(err.Error(), "json: "))
}

func argsError(tool string, list []finding) error {
	const most = 4 // a model reads this; more would only confuse it
	problems := make([]fault.Problem, len(list))
	texts := make([]string, 0, most+1)
	for i, f := range list {
		text := "arguments: " + f.text
		parameter := ""
		if len(f.path) > 0 {
			parameter = f.path[0]
			text = fmt.Sprintf("parameter %s: %s", pathText(f.path), f.text)
		}
		problems[i] = fault.Problem{Code: fault.CodeInvalidToolArgs, Tool: tool, Parameter: parameter, Message: text}
		if i < most {
			texts = append(texts, text)
		} else if i == most {
			texts = append(texts, fmt.Sprintf("and %d more", len(list)-most))
		}
	}
	e := fault.New(fault.CodeInvalidToolArgs, "tool %s: %s", clip(tool), strings.Join(texts, "; "))
	e.Problems = problems
	return e
}
