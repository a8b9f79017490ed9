package tools

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

func (r *shapeReader) reference(s *shape, raw json.RawMessage) error {
	var ref string
	if err := json.Unmarshal(raw, &ref); err != nil {
		return err
	}
	if known, ok := r.refs[ref]; ok {
		s.ref = known
		return nil
	}
	target, ok := follow(r.root, ref)
	if !ok {
		s.refuse("the reference %s", clip(ref))
		return nil
	}
	s.ref = &shape{}
	r.refs[ref] = s.ref
	return r.fill(s.ref, target, s.schema.Ref)
}

// follow finds what a reference into its own schema, "#" and a JSON pointer, points to.
func follow(root json.RawMessage, ref string) (json.RawMessage, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil, false
	}
	at := root
	for i, step := range strings.Split(pointer, "/") {
		if i == 0 {
			continue
		}
		step, err := url.PathUnescape(step)
		if err != nil {
			return nil, false
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		var members map[string]json.RawMessage
		var items []json.RawMessage
		switch {
		case json.Unmarshal(at, &members) == nil:
			at = members[step]
		case json.Unmarshal(at, &items) == nil:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(items) {
				return nil, false
			}
			at = items[n]
		}
		if at == nil {
			return nil, false
		}
	}
	return at, true
}
