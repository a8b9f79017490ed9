package facts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"edge/internal/canon"
	"edge/internal/digest"
)

// What one fact may hold, in bytes of UTF-8.
const (
	MaxText   = 8192
	MaxID     = 128
	MaxSource = 512
	MaxTag    = 64
	MaxTags   = 32
)

// Fact is one text that can be found. A fact that was given no ID has one made from its content.
type Fact struct {
	ID     string   `json:"id"`
	Text   string   `json:"text"`
	Source string   `json:"source"`
	Tags   []string `json:"tags"` // sorted, never nil
}

// normal checks f and gives it with its tags sorted and its ID filled in.
func (f Fact) normal() (Fact, error) {
	if strings.TrimSpace(f.Text) == "" {
		return Fact{}, errors.New("text is empty")
	}
	tags := []string{}
	for _, tag := range f.Tags {
		if tag = strings.TrimSpace(tag); tag == "" {
			return Fact{}, errors.New("a tag is empty")
		}
		if err := checkString("a tag", tag, MaxTag); err != nil {
			return Fact{}, err
		}
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	f.Tags = slices.Compact(tags)
	if len(f.Tags) > MaxTags {
		return Fact{}, fmt.Errorf("%d tags, at most %d can be kept", len(f.Tags), MaxTags)
	}
	for _, field := range []struct {
		name, value string
		limit       int
	}{{"text", f.Text, MaxText}, {"source", f.Source, MaxSource}, {"id", f.ID, MaxID}} {
		if err := checkString(field.name, field.value, field.limit); err != nil {
			return Fact{}, err
		}
	}
	if f.ID == "" {
		content, err := canon.Marshal(f)
		if err != nil {
			return Fact{}, err
		}
		f.ID = "f" + digest.SHA256Of(content).String()[:16]
	}
	return f, nil
}

func checkString(name, value string, limit int) error {
	if len(value) > limit {
		return fmt.Errorf("%s has %d bytes, at most %d can be kept", name, len(value), limit)
	}
	if !utf8.ValidString(value) {
		return fmt.Errorf("%s isn't valid UTF-8", name)
	}
	// A fact is shown on a terminal and put before a model: what moves the cursor has no place in it.
	if i := strings.IndexFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' }); i >= 0 {
		return fmt.Errorf("%s has the control character %q", name, value[i:i+1])
	}
	return nil
}

func (f Fact) equal(other Fact) bool {
	return f.ID == other.ID && f.Text == other.Text && f.Source == other.Source && slices.Equal(f.Tags, other.Tags)
}
