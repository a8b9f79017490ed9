package receipts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"edge/internal/canon"
	"edge/internal/digest"
)

// contentKeys are member names that stand for contents. A receipt has the digest of such a thing, under the same name
// with _sha256 behind it.
func contentKeys() []string {
	return []string{
		"prompt", "answer", "arguments", "args", "result", "token", "confirmation_token", "secret", "traceback",
		"stdout", "stderr",
	}
}

// CheckBody reports why body can't be a receipt's: it must be a JSON object; no member at any depth may have a name that
// stands for contents (prompt, answer, arguments, result, token, …); and SHA-256 digests and members that are named for
// one (sha256, or …_sha256, themselves or the object or list around them) come only together. The want and the got of a
// mismatch may be anything: their field says what they are.
func CheckBody(body any) error {
	_, err := checkedBody(body)
	return err
}

// checkedBody gives the canonical form of body if CheckBody has nothing against it.
func checkedBody(body any) (json.RawMessage, error) {
	canonical, err := canon.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("receipts: body: %w", err)
	}
	var members map[string]any
	if err := json.Unmarshal(canonical, &members); err != nil || members == nil {
		return nil, fmt.Errorf("receipts: a body is an object, not %.40s", canonical)
	}
	return canonical, checkMembers("body", members, false)
}

func checkMembers(at string, value any, digests bool) error {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			here := at + "." + key
			for _, content := range contentKeys() {
				if strings.EqualFold(key, content) {
					return fmt.Errorf("receipts: %s would put contents into a receipt; record %s_sha256", here, content)
				}
			}
			if _, isText := value[key].(string); isText && (key == "want" || key == "got") {
				continue
			}
			if err := checkMembers(here, value[key], digests || key == "sha256" || strings.HasSuffix(key, "_sha256")); err != nil {
				return err
			}
		}
	case []any:
		for i, inner := range value {
			if err := checkMembers(fmt.Sprintf("%s[%d]", at, i), inner, digests); err != nil {
				return err
			}
		}
	case nil:
	default:
		text, _ := value.(string)
		if _, err := digest.ParseSHA256(text); (err == nil) != digests {
			if digests {
				return fmt.Errorf("receipts: %s is named for a digest and holds none", at)
			}
			return fmt.Errorf("receipts: %s holds a SHA-256, so its name must end in _sha256", at)
		}
	}
	return nil
}
