package shell_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edge/hosted"
	"edge/hosted/shell"
	"edge/internal/canon"
	"edge/internal/fault"
	"edge/tools"
)

func open(t *testing.T, base string) hosted.Tool {
	t.Helper()
	tool, err := shell.New(json.RawMessage(`{}`), hosted.Environment{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func call(t *testing.T, tool hosted.Tool, command string) (string, error) {
	t.Helper()
	arguments, err := canon.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := tool.Call(context.Background(), arguments)
	if err != nil {
		return "", err
	}
	var result struct{ Output string }
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatal(err)
	}
	return result.Output, nil
}

func TestCommands(t *testing.T) {
	base := t.TempDir()
	if err := os.WriteFile(filepath.Join(base, "größe.txt"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("EDGE_SECRET_TOKEN", "s3cret")
	tool := open(t, base)
	for command, want := range map[string]string{
		"ls":                                "größe.txt\n",
		"echo out; echo err >&2; echo more": "out\nerr\nmore\n",
		"echo no; exit 3":                   "no\n\n[exit status 3]",
		"no-such-program-here 2>/dev/null":  "\n[exit status 127]",
		"kill -9 $$":                        "\n[signal: killed]",
		"cat":                               "",
		"echo \"[$EDGE_SECRET_TOKEN]\"":     "[]\n",
		`printf '\033[1;31mred\033[0m \033]0;title\007end\033[2J'`: "red end",
		`printf '10%%\r50%%\r100%%\n'`:                             "100%\n",
		`printf 'a\tb\r\n\342\200\256x\010y'`:                      "a\tb\n\\u{202E}x\\u{8}y",
		`printf '\377\376'`:                                        "\uFFFD",
	} {
		if got, err := call(t, tool, command); err != nil || got != want {
			t.Errorf("%s: got %q (%v), want %q", command, got, err, want)
		}
	}
}

func TestLongOutputIsCutInTheMiddle(t *testing.T) {
	got, err := call(t, open(t, t.TempDir()), `echo first; i=0; while [ $i -lt 3000 ]; do echo "line $i é"; i=$((i+1)); done; echo last`)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got, "first\nline 0 é\n") || !strings.HasSuffix(got, "line 2999 é\nlast\n") {
		t.Errorf("got the ends %q … %q", got[:20], got[len(got)-20:])
	}
	if !strings.Contains(got, " bytes left out …]\n") || len(got) > 17<<10 || strings.Contains(got, "\uFFFD") {
		t.Errorf("got %d bytes", len(got))
	}
}

// TestTheGuardStandsBeforeTheShell: what is refused leaves no trace, and the same words are said before confirmation.
func TestTheGuardStandsBeforeTheShell(t *testing.T) {
	base := t.TempDir()
	tool := open(t, base)
	command := "touch made; echo \u0430bc"
	if _, err := call(t, tool, command); !fault.Is(err, fault.CodeInvalidToolArgs) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(base); len(left) > 0 {
		t.Errorf("the command ran: %v", left)
	}
	arguments, _ := canon.Marshal(map[string]string{"command": command})
	mux := hosted.Mux{By: map[string]hosted.Tool{"sh": tool}}
	if err := mux.Check(tools.Call{ToolName: "sh", Arguments: arguments}); !fault.Is(err, fault.CodeInvalidToolArgs) {
		t.Errorf("got %v", err)
	}
	if err := mux.Check(tools.Call{ToolName: "other", Arguments: arguments}); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestOptionsAreNone(t *testing.T) {
	if _, err := shell.New(json.RawMessage(`{"limit":9}`), hosted.Environment{}); !fault.Is(err, fault.CodeInvalidToolMetadata) {
		t.Errorf("got %v", err)
	}
}
