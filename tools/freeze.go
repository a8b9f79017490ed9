package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"edge/internal/canon"
	"edge/internal/fault"
)

// Freeze checks a whole file and selects from it the tools of one run.
//
// One bad tool makes the whole file unusable, also when the selection leaves it out: a file is trusted as a whole, and
// an error that shows only under some selections is found too late. The error carries every problem, in the order of
// the file, and the code of the first. Then a selection that names a tool or a tag that isn't there, or an empty
// outcome, is no_tools_found, and more than MaxActive tools are active_tool_limit_exceeded.
func Freeze(in Inspection, sel Selection) (*ActiveSet, error) {
	all := make([]frozenTool, 0, len(in.Tools))
	problems := slices.Clone(in.Problems)
	seen := map[string]int{}
	for _, t := range in.Tools {
		frozen, found := freezeTool(t)
		if line, ok := seen[t.Name]; ok {
			found = append(found, problem(t, fault.CodeDuplicateToolName, "another tool of this file has that name (line %d)", line))
		}
		seen[t.Name] = t.Line
		for _, p := range found {
			if !alreadyReported(problems, p) {
				problems = append(problems, p)
			}
		}
		all = append(all, frozen)
	}
	if len(problems) > 0 {
		return nil, problemsError(in.Path, problems)
	}
	chosen, err := selectTools(in.Path, all, sel)
	if err != nil {
		return nil, err
	}
	set := &ActiveSet{
		path:             in.Path,
		fileSHA256:       in.FileSHA256,
		generatorVersion: in.GeneratorVersion,
		selection:        Selection{Names: nonNil(sel.Names), Tags: nonNil(sel.Tags)},
		tools:            chosen,
	}
	for _, t := range all {
		if set.find(t.Name) == nil {
			set.inactive = append(set.inactive, t.Name)
		}
	}
	slices.Sort(set.inactive)
	if set.sha256, err = activeSetSHA256(in.GeneratorVersion, chosen); err != nil {
		return nil, fmt.Errorf("freeze %s: %w", in.Path, err)
	}
	return set, nil
}

// freezeTool puts t into its hashed form and compiles its schemas, or says everything that is wrong with it.
func freezeTool(t Tool) (frozen frozenTool, found []fault.Problem) {
	report := func(code fault.Code, format string, args ...any) {
		found = append(found, problem(t, code, format, args...))
	}
	t.Permissions, t.IntentTags = nonNil(t.Permissions), nonNil(t.IntentTags)
	if !validName(t.Name) {
		report(fault.CodeInvalidToolName, "the name %q doesn't match [A-Za-z_][A-Za-z0-9_]{0,63}", clip(t.Name))
	}
	for _, permission := range t.Permissions {
		if permission != "read_local" {
			report(fault.CodeUnsupportedPermission, "the permission %q isn't supported, only read_local is", clip(permission))
		}
	}
	switch t.ExecutionLevel {
	case Read, Prepare, Commit:
	default:
		report(fault.CodeInvalidExecutionLevel, "the execution level %q isn't read, prepare or commit", clip(string(t.ExecutionLevel)))
	}

	switch t.Surface {
	case FromEdge, FromFunction, FromHost:
	default:
		report(fault.CodeInvalidToolMetadata, "the surface %q isn't known", clip(string(t.Surface)))
	}

	parameters, doc, err := canonicalSchema(t.Parameters)
	if err == nil && t.Surface == FromFunction {
		if parameters, err = closeObjects(parameters); err == nil {
			doc, err = decode(parameters)
		}
	}
	if err == nil {
		t.Parameters = parameters
		if frozen.parameters, err = compileParameters(parameters); err == nil {
			frozen.shape, err = parseShape(parameters, frozen.parameters)
		}
	}
	if err != nil {
		report(fault.CodeUnsupportedSchema, "the parameters aren't a JSON Schema: %s", err)
	} else if open := openPart(doc); open != "" {
		report(fault.CodeUnsupportedSchema, "the parameters aren't a closed object: %s", open)
		found[len(found)-1].Parameter = parameterAt(doc)
	}
	open := "none was declared"
	if t.OutputSchema = nilIfNull(t.OutputSchema); t.OutputSchema == nil {
		err = nil
	} else if t.OutputSchema, doc, err = canonicalSchema(t.OutputSchema); err == nil {
		open = openPart(doc)
		if frozen.output, err = compileSchema(t.OutputSchema); err == nil && !allowsObject(doc) {
			err = errors.New("a result is always an object, and the schema's type isn't")
		}
	}
	if err != nil {
		report(fault.CodeInvalidOutputSchema, "output_schema isn't a usable JSON Schema: %s", err)
	} else if why := needsClosedOutput(t); why != "" && open != "" {
		report(fault.CodeReturnDirectOutputSchemaRequired, "%s needs a closed output_schema: %s", why, open)
	}
	if t.ExecutionLevel != Read && !t.ReturnDirect {
		report(fault.CodeReturnDirectOutputSchemaRequired, "the execution level %s needs return_direct=True", t.ExecutionLevel)
	}
	if len(found) == 0 {
		if t.SchemaSHA256, err = schemaSHA256(t); err != nil {
			report(fault.CodeInvalidToolMetadata, "the tool can't be written as canonical JSON: %s", err)
		}
	}
	frozen.Tool = t
	// Python's own types always have a grammar.
	if len(found) == 0 && t.Surface != FromEdge {
		if p := writable(frozen); p != nil {
			found = append(found, *p)
		}
	}
	return frozen, found
}

func needsClosedOutput(t Tool) string {
	switch {
	case t.ExecutionLevel == Prepare || t.ExecutionLevel == Commit:
		return "the execution level " + string(t.ExecutionLevel)
	case t.ReturnDirect:
		return "return_direct"
	}
	return ""
}

func canonicalSchema(raw []byte) (json.RawMessage, any, error) {
	text, err := canon.Transform(raw)
	if err != nil {
		return nil, nil, err
	}
	doc, err := decode(text)
	if err != nil {
		return nil, nil, err
	}
	if _, ok := doc.(map[string]any); !ok {
		return nil, nil, fmt.Errorf("got %s, want an object", kindOf(doc))
	}
	return text, doc, nil
}

func nilIfNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || strings.TrimSpace(string(raw)) == "null" {
		return nil
	}
	return raw
}

// allowsObject is false for a schema that no result can follow: results that aren't objects are wrapped into one.
func allowsObject(schema any) bool {
	top := schema.(map[string]any)
	_, typed := top["type"]
	return !typed || describesObject(map[string]any{"type": top["type"]})
}

// selectTools applies sel, sorts by name and holds the limit.
func selectTools(path string, all []frozenTool, sel Selection) ([]frozenTool, error) {
	if len(all) == 0 {
		return nil, fault.New(fault.CodeNoToolsFound, "%s holds no tool", path)
	}
	file := filepath.Base(path)
	for _, name := range sel.Names {
		if !slices.ContainsFunc(all, func(t frozenTool) bool { return t.Name == name }) {
			return nil, fault.New(fault.CodeNoToolsFound, "%s has no tool %q; its tools are %s", file, clip(name), joinNames(all)).
				WithHint("give --tool one of those names")
		}
	}
	for _, tag := range sel.Tags {
		if !slices.ContainsFunc(all, func(t frozenTool) bool { return slices.Contains(t.IntentTags, tag) }) {
			return nil, fault.New(fault.CodeNoToolsFound, "no tool of %s has the tag %q; its tags are %s", file, clip(tag), joinTags(all)).
				WithHint("give --tool-tag one of those tags, or --tool a name")
		}
	}
	var chosen []frozenTool
	for _, t := range all {
		tagged := slices.ContainsFunc(sel.Tags, func(tag string) bool { return slices.Contains(t.IntentTags, tag) })
		if tagged || slices.Contains(sel.Names, t.Name) || len(sel.Names)+len(sel.Tags) == 0 {
			chosen = append(chosen, t)
		}
	}
	slices.SortFunc(chosen, func(a, b frozenTool) int { return strings.Compare(a.Name, b.Name) })
	if len(chosen) > MaxActive {
		return nil, fault.New(fault.CodeActiveToolLimitExceeded, "%d tools would be active and %d is the most: %s", len(chosen), MaxActive, joinNames(chosen))
	}
	return chosen, nil
}

func problem(t Tool, code fault.Code, format string, args ...any) fault.Problem {
	return fault.Problem{Code: code, Tool: t.Name, Line: t.Line, Message: fmt.Sprintf(format, args...)}
}

func alreadyReported(problems []fault.Problem, p fault.Problem) bool {
	return slices.ContainsFunc(problems, func(q fault.Problem) bool { return q.Code == p.Code && q.Tool == p.Tool && q.Line == p.Line })
}

// problemsError makes one error of all problems: the first in the file gives the code and the message, which names the
// file, the line, the tool and the parameter.
func problemsError(path string, problems []fault.Problem) error {
	slices.SortStableFunc(problems, func(a, b fault.Problem) int { return a.Line - b.Line })
	for i := range problems {
		problems[i].File = path
	}
	first := problems[0]
	place := path
	if first.Line > 0 {
		place += fmt.Sprintf(":%d", first.Line)
	}
	if first.Tool != "" {
		place += ": tool " + clip(first.Tool)
	}
	if first.Parameter != "" && !strings.HasPrefix(first.Message, "parameter ") {
		place += ": parameter " + clip(first.Parameter)
	}
	more := ""
	if n := len(problems) - 1; n == 1 {
		more = " (and 1 more problem)"
	} else if n > 1 {
		more = fmt.Sprintf(" (and %d more problems)", n)
	}
	e := fault.New(first.Code, "%s: %s%s", place, first.Message, more)
	e.Problems = problems
	return e
}

func joinNames(tools []frozenTool) string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func joinTags(tools []frozenTool) string {
	var tags []string
	for _, t := range tools {
		tags = append(tags, t.IntentTags...)
	}
	slices.Sort(tags)
	if tags = slices.Compact(tags); len(tags) == 0 {
		return "none"
	}
	return strings.Join(tags, ", ")
}

// validName is [A-Za-z_][A-Za-z0-9_]{0,63}.
func validName(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return slices.Clone(list)
}
