package webpage

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	readability "codeberg.org/readeck/go-readability/v2"
	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html/charset"
)

// enough is how many bytes an article must have to be taken for all that a page says; of one with less, all text is given.
const enough = 200

// extract gives title and text of a page's bytes.
func extract(body []byte, contentType string, from *url.URL) (title, text string, err error) {
	kind, err := kindOf(body, contentType)
	if err != nil {
		return "", "", err
	}
	decoded := decode(body, contentType)
	if kind == plain {
		return "", strings.TrimSpace(decoded), nil
	}
	return readable(decoded, from)
}

type kind int

const (
	plain kind = iota
	markup
)

// kindOf tells what a body is by what the server says, and by the bytes where it says nothing useful.
func kindOf(body []byte, contentType string) (kind, error) {
	said, _, err := mime.ParseMediaType(contentType)
	sniffed, _, _ := strings.Cut(http.DetectContentType(body), ";")
	if err != nil || said == "application/octet-stream" {
		said = sniffed
	}
	switch {
	case said == "application/pdf" || sniffed == "application/pdf":
		return 0, errors.New("it is a PDF, and only web pages and text are read")
	case said == "text/html" || said == "application/xhtml+xml":
		return markup, nil
	case !strings.HasPrefix(said, "text/") && !textual(said) || bytes.IndexByte(body, 0) >= 0 && !bytes.HasPrefix(body, []byte("\xff\xfe")) && !bytes.HasPrefix(body, []byte("\xfe\xff")):
		return 0, fmt.Errorf("it is %s, and only web pages and text are read", said)
	}
	return plain, nil
}

// textual are the types of text that don't say so.
func textual(mediaType string) bool {
	switch mediaType {
	case "application/json", "application/xml", "application/javascript", "application/x-ndjson", "application/yaml", "application/toml":
		return true
	}
	return strings.HasSuffix(mediaType, "+json") || strings.HasSuffix(mediaType, "+xml")
}

// decode makes UTF-8 of the body: by the encoding that header, mark or page declare, or as UTF-8 where it is that.
func decode(body []byte, contentType string) string {
	encoding, _, declared := charset.DetermineEncoding(body, contentType)
	if !declared && utf8.Valid(trimPartial(body)) {
		return strings.TrimPrefix(string(trimPartial(body)), "\uFEFF")
	}
	text, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		text = body
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(text), "\uFEFF"), "\uFFFD")
}

// trimPartial leaves out a last character that was cut.
func trimPartial(body []byte) []byte {
	for n := range min(utf8.UTFMax, len(body)) {
		if head := body[len(body)-1-n]; utf8.RuneStart(head) {
			if !utf8.FullRune(body[len(body)-1-n:]) {
				return body[:len(body)-1-n]
			}
			break
		}
	}
	return body
}

// readable gives the article of a page, or all its text where it has none that is worth the name.
func readable(markup string, from *url.URL) (title, text string, err error) {
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(markup))
	if err != nil {
		return "", "", err
	}
	title = strings.Join(strings.Fields(doc.Find("title").First().Text()), " ")
	parser := readability.NewParser()
	parser.MaxElemsToParse = 50_000
	if article, err := parser.Parse(strings.NewReader(markup), from); err == nil && article.Node != nil {
		var b strings.Builder
		if article.RenderText(&b) == nil {
			text = lines(b.String(), false)
		}
		if t := strings.TrimSpace(article.Title()); t != "" {
			title = t
		}
	}
	if len(text) < enough {
		doc.Find("script, style, noscript, template, nav, footer, header, svg").Remove()
		doc.Find("br, p, div, li, tr, h1, h2, h3, h4, h5, h6, pre, section, article").AppendHtml("\n")
		if all := lines(doc.Find("body").Text(), true); all != "" {
			text = all
		}
	}
	return title, text, nil
}

// lines leaves out empty lines and the space behind others; before them too where it is the markup's and not the text's.
func lines(text string, indents bool) string {
	var kept []string
	for line := range strings.Lines(text) {
		if indents {
			line = strings.TrimLeft(line, " \t\u00a0")
		}
		if line = strings.TrimRight(line, " \t\r\n\u00a0"); line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// firstChars is the first n characters of text.
func firstChars(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
