// Package filesearch finds passages in the text files of folders, with file and line. It keeps an index of the folders
// (SQLite, FTS5) and brings it up to date before each search: new, changed and removed files, and nothing else.
//
// The invariants: a search sees the files as they are now; the same files give the same passages in the same order; no
// character of a query is an operator, and words of any script are found, Chinese and Japanese ones of two characters
// included; nothing outside the folders is read, whatever links lead there. An index that is damaged is made anew, and
// that is said.
//
// Left out, and counted: what isn't text in UTF-8 or UTF-16, and files of more than 4 MiB. Passed over: names that begin
// with a dot, links, and edge's own state.
package filesearch

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"edge/hosted"
	"edge/internal/fault"
	"edge/tools"
)

const (
	// MaxResults is the most passages that one search gives, DefaultResults what it gives unless told otherwise.
	MaxResults     = 50
	DefaultResults = 8

	// budget bounds the results of a search as JSON, with room for the note.
	budget = tools.MaxResultBytes - 4<<10
)

// Result is one passage. Lines are counted from 1.
type Result struct {
	File    string   `json:"file"`
	Line    int      `json:"line"`
	EndLine int      `json:"end_line"`
	Text    string   `json:"text"`
	Score   *float64 `json:"score,omitempty"`
}

type answer struct {
	Results []Result `json:"results"`
	Note    string   `json:"note,omitempty"`
}

// tool is the search as a hosted tool.
type tool struct {
	index  index
	limit  int
	scores bool

	mu   sync.Mutex
	said string
}

// Open makes the hosted tool of kind file_search. The index is made with the first search.
func Open(options json.RawMessage, env hosted.Environment) (hosted.Tool, error) {
	var o struct {
		Folders       []string `json:"folders"`
		MaxNumResults int      `json:"max_num_results"`
		IncludeScores bool     `json:"include_search_results"`
	}
	if err := hosted.Options(options, &o); err != nil {
		return nil, err
	}
	if o.MaxNumResults == 0 {
		o.MaxNumResults = DefaultResults
	}
	if o.MaxNumResults < 1 || o.MaxNumResults > MaxResults {
		return nil, fault.New(fault.CodeInvalidToolMetadata, "file search: max_num_results: got %d, want 1 to %d", o.MaxNumResults, MaxResults)
	}
	folders, err := resolve(o.Folders, env)
	if err != nil {
		return nil, err
	}
	return &tool{index: newIndex(env, folders), limit: o.MaxNumResults, scores: o.IncludeScores}, nil
}

// folder is one place to search: as the configuration names it, and where it is.
type folder struct{ name, path string }

func resolve(names []string, env hosted.Environment) (all []folder, err error) {
	if len(names) == 0 {
		return nil, fault.New(fault.CodeInvalidToolMetadata, "file search: no folder was named")
	}
	for _, name := range names {
		path := filepath.FromSlash(name)
		if !filepath.IsAbs(path) {
			path = filepath.Join(env.Base, path)
		}
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			return nil, fault.New(fault.CodeInvalidToolMetadata, "file search: there is no folder %s", path).
				WithHint("name one that is there; a relative path begins at the tools file's folder")
		}
		all = append(all, folder{name, path})
	}
	return all, nil
}

func (t *tool) Call(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
	var args struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal(arguments, &args); err != nil {
		return nil, fault.New(fault.CodeInvalidToolArgs, "file search: %w", err)
	}
	found, counts, err := t.index.search(ctx, args.Query, t.limit)
	if err != nil {
		return nil, err
	}
	t.tell(counts)
	a := answer{Results: []Result{}}
	size := 0
	for _, r := range found {
		if !t.scores {
			r.Score = nil
		}
		raw, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		if size += len(raw) + 1; size > budget {
			break
		}
		a.Results = append(a.Results, r)
	}
	if len(found) == 0 {
		a.Note = fmt.Sprintf("nothing found in %s", counts)
	}
	return json.Marshal(a)
}

// tell says what was left out, once and whenever it changes.
func (t *tool) tell(c counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := c.String(); c.leftOut() > 0 && text != t.said {
		t.said = text
		t.index.env.Say("file search: " + text)
	}
}

func (t *tool) Close() error { return nil }
