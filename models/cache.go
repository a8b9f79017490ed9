package models

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"edge/internal/atomicfile"
	"edge/internal/home"
	"edge/internal/stamp"
)

// identities is the cache of file identities, EDGE_HOME/models/identities.json. It only saves time: whatever is wrong
// with it, files are hashed anew.
type identities struct {
	path string
	now  func() time.Time
}

type identitiesFile struct {
	Schema string           `json:"schema"`
	Files  []identityRecord `json:"files"`
}

type identityRecord struct {
	Path     string      `json:"path"`
	Stamp    stamp.Stamp `json:"stamp"`
	Hashed   time.Time   `json:"hashed"`
	Identity Identity    `json:"identity"`
}

const (
	identitiesSchema   = "edge.model_identities/v1"
	maxIdentities      = 256
	maxIdentitiesBytes = 1 << 20
)

func (s *Store) cache() identities {
	return identities{filepath.Join(s.cfg.Home.Models(), "identities.json"), s.cfg.Now}
}

func (c identities) load() (file identitiesFile) {
	f, err := os.Open(c.path)
	if err != nil {
		return identitiesFile{}
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxIdentitiesBytes))
	if err != nil {
		return identitiesFile{}
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if dec.Decode(&file) != nil || file.Schema != identitiesSchema {
		return identitiesFile{}
	}
	return file
}

func (c identities) lookup(path string, now stamp.Stamp) (Identity, bool) {
	for _, record := range c.load().Files {
		if record.Path == path && record.Stamp == now && !record.Identity.SHA256.IsZero() && record.Identity.Size == now.Size {
			return record.Identity, true
		}
	}
	return Identity{}, false
}

// remember writes the record. Two processes that write at once lose one record, which costs one more hashing; a folder
// that can't be written to costs one each time, and is reported by doctor.
func (c identities) remember(path string, at stamp.Stamp, id Identity) {
	files := slices.DeleteFunc(c.load().Files, func(r identityRecord) bool { return r.Path == path })
	files = append(files, identityRecord{Path: path, Stamp: at, Hashed: c.now().UTC(), Identity: id})
	if extra := len(files) - maxIdentities; extra > 0 {
		files = files[extra:]
	}
	raw, err := json.MarshalIndent(identitiesFile{Schema: identitiesSchema, Files: files}, "", " ")
	if err != nil || home.Ensure(filepath.Dir(c.path)) != nil {
		return
	}
	if err := atomicfile.WriteBytes(c.path, 0o600, append(raw, '\n')); err != nil {
		return
	}
}
