package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"edge/internal/atomicfile"
)

// categories are the parts of the leaderboard that this program reads, in the order of its tables.
func categories() []string {
	return []string{"simple_python", "multiple", "irrelevance", "live_multiple"}
}

// row is one request of the leaderboard with the functions that it may call, as bfcl.py writes it.
type row struct {
	ID        string     `json:"id"`
	System    string     `json:"system"`
	Request   string     `json:"request"`
	Functions []function `json:"functions"`
	// Truth holds one function's name, and for each parameter the values that count as right. It is empty where no
	// function should be called.
	Truth []map[string]map[string][]json.RawMessage `json:"truth"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// wanted gives the function that should be called, and what may stand in its call.
func (r row) wanted() (name string, allowed map[string][]json.RawMessage, ok bool) {
	if len(r.Truth) != 1 {
		return "", nil, false
	}
	for name, allowed := range r.Truth[0] {
		return name, allowed, true
	}
	return "", nil, false
}

// key is the same for requests with the same functions and the same system text.
func (r row) key() string {
	text, err := json.Marshal(r.Functions)
	if err != nil {
		return r.ID // functions that were read can be written
	}
	return r.System + "\x00" + string(text)
}

func readRows(dir, category string) ([]row, error) {
	path := filepath.Join(dir, "data", category+".jsonl")
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the leaderboard's data (bfcl.py --steps install,extract writes it): %w", err)
	}
	defer f.Close()
	var rows []row
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 8<<20)
	for scan.Scan() {
		var r row
		if err := json.Unmarshal(scan.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, len(rows)+1, err)
		}
		rows = append(rows, r)
	}
	return rows, scan.Err()
}

// writeFile writes a report whole or not at all.
func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, 0o600, content)
}

// toolName is the function's name as the package itself writes it for models whose names can't hold a dot.
func toolName(name string) string { return strings.ReplaceAll(name, ".", "_") }

// answered is one line of calls/CATEGORY.jsonl and of truth/CATEGORY.jsonl: what the package's checker is to judge.
type answered struct {
	ID      string                 `json:"id"`
	Refused string                 `json:"refused,omitempty"` // why the functions of this request can't be active together
	Calls   map[string]*judgedCall `json:"calls,omitempty"`   // by arm; null: no call was made
	Choices map[string]string      `json:"choices,omitempty"` // by way of choosing: the function
}

type judgedCall struct {
	ToolName  string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
}

func writeLines(path string, list []answered) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	for _, line := range list {
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	return writeFile(path, text.Bytes())
}
