package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"edge/internal/canon"
)

// finding is one place where a value contradicts its schema.
type finding struct {
	path []string // from the value's top; empty is the value itself
	text string   // "got …, want …"
}

// explain turns a validation error into findings, sorted by place, so that equal inputs give equal messages.
// With showValues, what was got is shown, clipped and safe to print; without, only its kind is.
func explain(err *jsonschema.ValidationError, sch *jsonschema.Schema, value any, showValues bool) []finding {
	var list []finding
	add := func(path []string, format string, args ...any) {
		list = append(list, finding{slices.Clone(path), fmt.Sprintf(format, args...)})
	}
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		switch e.ErrorKind.(type) {
		case *kind.AnyOf, *kind.OneOf:
			if len(e.Causes) > 0 {
				if best, types := nearest(e); best != nil {
					walk(best)
				} else {
					add(e.InstanceLocation, "got %s, want %s", describe(lookup(value, e.InstanceLocation), showValues), typesText(types))
				}
				return
			}
		}
		if len(e.Causes) > 0 {
			for _, cause := range e.Causes {
				walk(cause)
			}
			return
		}
		at := e.InstanceLocation
		got := describe(lookup(value, at), showValues)
		switch k := e.ErrorKind.(type) {
		case *kind.Type:
			add(at, "got %s, want %s", got, typesText(k.Want))
		case *kind.Enum:
			add(at, "got %s, want one of %s", got, literals(k.Want))
		case *kind.Const:
			add(at, "got %s, want %s", got, clip(literal(k.Want)))
		case *kind.Required:
			for _, name := range k.Missing {
				add(append(at[:len(at):len(at)], name), "missing, want %s", wanted(sch, len(at), name))
			}
		case *kind.AdditionalProperties:
			slices.Sort(k.Properties)
			for _, name := range k.Properties {
				add(append(at[:len(at):len(at)], name), "unknown%s", known(sch, len(at)))
			}
		default:
			if showValues {
				add(at, "%s", kindText(k))
			} else {
				// The library's own texts hold parts of the value.
				add(at, "got %s that breaks %q", got, strings.Join(k.KeywordPath(), "/"))
			}
		}
	}
	walk(err)
	slices.SortStableFunc(list, func(a, b finding) int { return slices.Compare(a.path, b.path) })
	return list
}

func deepest(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	return e
}

func kindText(k jsonschema.ErrorKind) string {
	return clip(k.LocalizedString(message.NewPrinter(language.English)))
}

// wanted describes what a missing member should be; only members of the top are looked up.
func wanted(sch *jsonschema.Schema, depth int, name string) string {
	if depth > 0 || sch.Properties[name] == nil {
		return "a value"
	}
	return wantedOf(sch.Properties[name], 0)
}

func wantedOf(p *jsonschema.Schema, depth int) string {
	union := slices.Concat(p.AnyOf, p.OneOf)
	switch {
	case depth > maxReferences:
	case p.Enum != nil:
		return "one of " + literals(p.Enum.Values)
	case p.Const != nil:
		return clip(literal(*p.Const))
	case p.Types != nil:
		return typesText(p.Types.ToStrings())
	case p.Ref != nil:
		return wantedOf(p.Ref, depth+1)
	case len(p.AllOf) == 1:
		return wantedOf(p.AllOf[0], depth+1)
	case len(union) > 0:
		var texts []string
		for _, part := range union {
			if text := wantedOf(part, depth+4); !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, " or ")
	}
	return "a value"
}

func known(sch *jsonschema.Schema, depth int) string {
	if depth > 0 {
		return ""
	}
	if len(sch.Properties) == 0 {
		return ": there are no parameters"
	}
	return ", want one of " + strings.Join(sortedKeys(sch.Properties), ", ")
}

func literals(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = literal(v)
	}
	return clip(strings.Join(texts, ", "))
}

func literal(v any) string {
	text, err := canon.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func describe(v any, show bool) string {
	if v == nil {
		return "null"
	}
	if !show {
		return kindOf(v)
	}
	return fmt.Sprintf("%s (%s)", clip(literal(v)), kindOf(v))
}

// kindOf names a decoded JSON value's kind.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}

func typesText(types []string) string {
	texts := make([]string, len(types))
	for i, t := range types {
		switch t {
		case "null":
			texts[i] = t
		case "integer", "array", "object":
			texts[i] = "an " + t
		default:
			texts[i] = "a " + t
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, " or ")
}

// pathText writes a place as a person would: ids[0].name.
func pathText(path []string) string {
	var b strings.Builder
	for _, part := range path {
		switch _, err := strconv.ParseUint(part, 10, 32); {
		case err == nil && b.Len() > 0:
			b.WriteString("[" + part + "]")
		case b.Len() > 0:
			b.WriteString("." + part)
		default:
			b.WriteString(part)
		}
	}
	if b.Len() == 0 {
		return "the top"
	}
	return clip(b.String())
}

func lookup(v any, path []string) any {
	for _, part := range path {
		switch c := v.(type) {
		case map[string]any:
			v = c[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(c) {
				return nil
			}
			v = c[i]
		default:
			return nil
		}
	}
	return v
}

// clip makes text from outside short and safe to print.
func clip(text string) string {
	const most = 80
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return EscapeForDisplay(text)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
