package evolve

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"edge/internal/digest"
	"edge/internal/fault"
	"edge/internal/home"
)

// TrajectorySchema names the format of a trajectory: a JSON object a line.
const TrajectorySchema = "edge.evolve_trajectory/v1"

// The kinds of a trajectory's lines. It begins with one start and ends with one end; a run that was cut off lacks that.
const (
	lineStart   = "start"
	lineCall    = "call"
	lineRefused = "refused" // calls of a reply beyond the limit
	lineNudge   = "nudge"
	lineEnd     = "end"
)

// Line is one line of a trajectory.
type Line struct {
	Kind string `json:"kind"`

	// of the start
	Schema       string   `json:"schema,omitempty"`
	ID           string   `json:"id,omitempty"`
	Task         string   `json:"task,omitempty"`
	Model        string   `json:"model,omitempty"`
	Time         string   `json:"time,omitempty"`
	Edge         string   `json:"edge,omitempty"`
	AllowCreate  bool     `json:"allow_create,omitempty"`
	AllowNetwork bool     `json:"allow_network,omitempty"`
	Library      []Record `json:"library,omitempty"` // as it was

	// of a call
	Step             int             `json:"step,omitempty"`
	Name             string          `json:"name,omitempty"`
	Arguments        json.RawMessage `json:"arguments,omitempty"`
	ArgumentsInvalid bool            `json:"arguments_invalid,omitempty"`
	Result           json.RawMessage `json:"result,omitempty"`
	ResultSHA256     *digest.SHA256  `json:"result_sha256,omitempty"`
	MS               float64         `json:"ms,omitempty"`
	Network          bool            `json:"network,omitempty"`
	Direct           bool            `json:"direct,omitempty"` // made by an imprint, without a planner
	Count            int             `json:"count,omitempty"`  // of refused calls

	// of the end
	Answer string `json:"answer,omitempty"`
	Finish string `json:"finish,omitempty"`
}

// journal writes a trajectory line by line.
type journal struct {
	file *os.File
	path string
	hash bytes.Buffer
}

// newID names a run by its time and four random bytes.
func newID(now time.Time, random io.Reader) (string, error) {
	tag := make([]byte, 4)
	if _, err := io.ReadFull(random, tag); err != nil {
		return "", err
	}
	return now.UTC().Format("20060102T150405.000Z") + "-" + hex.EncodeToString(tag), nil
}

func newJournal(dir, id string) (*journal, error) {
	if err := home.Ensure(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, id+".jsonl")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{file: f, path: path}, nil
}

func (j *journal) write(l Line) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		return err
	}
	j.hash.Write(b.Bytes())
	_, err := j.file.Write(b.Bytes())
	return err
}

// close makes the file durable and gives its digest.
func (j *journal) close() (digest.SHA256, error) {
	err := errors.Join(j.file.Sync(), j.file.Close())
	return digest.SHA256Of(j.hash.Bytes()), err
}

// maxTrajectoryBytes bounds what is read as one trajectory, and one line of it.
const maxTrajectoryBytes = 256 << 20

// ReadTrajectory reads a trajectory's lines. Errors: trajectory_not_found, trajectory_invalid.
func ReadTrajectory(path string) ([]Line, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.CodeTrajectoryNotFound, "no trajectory at %s", path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	invalid := func(line int, why any) error {
		return fault.New(fault.CodeTrajectoryInvalid, "trajectory %s: line %d: %v", path, line, why)
	}
	var lines []Line
	in := bufio.NewScanner(io.LimitReader(f, maxTrajectoryBytes))
	in.Buffer(nil, maxTrajectoryBytes)
	for in.Scan() {
		n := len(lines) + 1
		var l Line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			return nil, invalid(n, err)
		}
		if (n == 1) != (l.Kind == lineStart) {
			return nil, invalid(n, fmt.Sprintf("its kind is %q", clip(l.Kind, 40)))
		}
		if n == 1 && l.Schema != TrajectorySchema {
			return nil, invalid(n, fmt.Sprintf("its schema is %q, want %q", clip(l.Schema, 60), TrajectorySchema))
		}
		if l.ResultSHA256 != nil && digest.SHA256Of(l.Result) != *l.ResultSHA256 {
			return nil, invalid(n, "the result isn't what its digest says")
		}
		lines = append(lines, l)
	}
	if err := in.Err(); err != nil {
		return nil, invalid(len(lines)+1, err)
	}
	if len(lines) == 0 {
		return nil, invalid(1, "it is empty")
	}
	return lines, nil
}
