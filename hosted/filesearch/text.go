package filesearch

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding/unicode"
)

// decode gives a file's bytes as text with plain line ends; ok is false for what isn't UTF-8, or UTF-16 with its mark.
func decode(raw []byte) (text string, ok bool) {
	if bytes.HasPrefix(raw, []byte("\xff\xfe")) || bytes.HasPrefix(raw, []byte("\xfe\xff")) {
		decoded, err := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(raw)
		if err != nil {
			return "", false
		}
		raw = decoded
	}
	raw = bytes.TrimPrefix(raw, []byte("\uFEFF"))
	if bytes.IndexByte(raw, 0) >= 0 || !utf8.Valid(raw) {
		return "", false
	}
	return strings.ReplaceAll(string(raw), "\r\n", "\n"), true
}

// htmlText is what a page says, each word on the line that it stands on in the file.
func htmlText(page string) string {
	var out strings.Builder
	z := html.NewTokenizer(strings.NewReader(page))
	hidden := "" // the element whose text nobody sees
	for {
		kind := z.Next()
		raw := string(z.Raw())
		if kind == html.ErrorToken {
			return out.String()
		}
		shown := " "
		switch kind {
		case html.TextToken:
			if hidden == "" {
				shown = unescape(raw)
			}
		case html.StartTagToken, html.EndTagToken:
			name, _ := z.TagName()
			switch tag := string(name); {
			case kind == html.EndTagToken && tag == hidden:
				hidden = ""
			case kind == html.StartTagToken && hidden == "" && (tag == "script" || tag == "style" || tag == "template"):
				hidden = tag
			case inline(tag):
				shown = ""
			}
		}
		out.WriteString(shown)
		if shown == "" || shown == " " {
			out.WriteString(strings.Repeat("\n", strings.Count(raw, "\n")))
		}
	}
}

// inline are the elements that stand inside words.
func inline(tag string) bool {
	switch tag {
	case "a", "b", "i", "em", "strong", "span", "code", "u", "s", "small", "mark", "sub", "sup", "wbr", "abbr":
		return true
	}
	return false
}

// unescape resolves references line by line, so that none of them makes a line.
func unescape(raw string) string {
	lines := strings.Split(raw, "\n")
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(html.UnescapeString(line), "\n", " ")
	}
	return strings.Join(lines, "\n")
}
