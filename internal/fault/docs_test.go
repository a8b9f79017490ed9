package fault_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edge/internal/fault"
)

var update = flag.Bool("update", false, "write docs/errors.md from the table")

// TestErrorsPage keeps docs/errors.md equal to the table: go test ./internal/fault -run ErrorsPage -update
func TestErrorsPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "errors.md")
	want := errorsPage()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/errors.md isn't what the table says; run: go test ./internal/fault -run ErrorsPage -update")
	}
}

func errorsPage() []byte {
	var b bytes.Buffer
	b.WriteString(`# Error codes

<!-- Made from internal/fault/codes.go by: go test ./internal/fault -run ErrorsPage -update -->

Every failure has one code. With ` + "`--json`" + ` it stands in ` + "`error.code`" + ` of an ` + "`edge.error/v1`" + ` object on standard output, beside
its class, a message that names the thing, and a hint. A script branches on the code or on the exit status, which belongs
to the class; a status or a code that it doesn't know is a failure. Codes are only ever added, and keep their meaning.

Exit status 0 is success. Status 2 is what Go's runtime gives when it panics: a bug.

| code | class | exit status | meaning | what to do |
|---|---|---|---|---|
`)
	for _, row := range fault.Rows() {
		fmt.Fprintf(&b, "| `%s` | %s | %d | %s | %s |\n", row.Code, row.Class, row.Class.Exit(), cell(row.Meaning), cell(row.Hint))
	}
	return b.Bytes()
}

// cell keeps a text from ending its column or from becoming markup.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "@edge_tool", "`@edge_tool`", "\n", " ").Replace(text)
}
