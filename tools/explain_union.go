package tools

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// nearest tells which schema of a union a value was meant for: of those that its type fits, the one whose fixed values
// and then whose other parts it misses least. nil is none, with the types that would fit.
func nearest(union *jsonschema.ValidationError) (best *jsonschema.ValidationError, types []string) {
	least := 0
	for _, cause := range union.Causes {
		misses, own := 0, []string(nil)
		var count func(*jsonschema.ValidationError)
		count = func(e *jsonschema.ValidationError) {
			switch k := e.ErrorKind.(type) {
			case *kind.Type:
				if len(e.InstanceLocation) == len(union.InstanceLocation) {
					own = append(own, k.Want...)
				}
				misses++
			case *kind.Const, *kind.Enum:
				misses += 100
			case *kind.Required:
				misses += len(k.Missing)
			case *kind.AdditionalProperties:
				misses += len(k.Properties)
			default:
				if len(e.Causes) == 0 {
					misses++
				}
			}
			for _, part := range e.Causes {
				count(part)
			}
		}
		count(cause)
		if own != nil {
			types = append(types, own...)
		} else if best == nil || misses < least {
			best, least = cause, misses
		}
	}
	slices.Sort(types)
	return best, slices.Compact(types)
}
