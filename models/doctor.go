package models

import (
	"context"
	"os"
	"path/filepath"

	"edge/internal/digest"
	"edge/internal/fault"
)

// Diagnosis is this package's part of edge.doctor/v1.
type Diagnosis struct {
	Engine EngineCheck `json:"engine"`
	Model  ModelCheck  `json:"model"`
	Paths  PathsCheck  `json:"paths"`
}

// EngineCheck says whether the engine libraries are here and are the pinned ones.
type EngineCheck struct {
	OK        bool          `json:"ok"`
	Found     string        `json:"found"` // in words
	Engine    string        `json:"engine,omitempty"`
	Platform  string        `json:"platform,omitempty"`
	Package   string        `json:"package,omitempty"`
	Dir       string        `json:"dir,omitempty"`
	Libraries int           `json:"libraries,omitempty"`
	SHA256    digest.SHA256 `json:"sha256,omitzero"`
	Code      fault.Code    `json:"code,omitempty"`
	Todo      string        `json:"todo,omitempty"`
}

// ModelCheck says whether one model is here and is the pinned one.
type ModelCheck struct {
	OK    bool       `json:"ok"`
	Found string     `json:"found"`
	Model *Model     `json:"model,omitempty"`
	Code  fault.Code `json:"code,omitempty"`
	Todo  string     `json:"todo,omitempty"`
}

// PathsCheck says where things lie and whether there is room.
type PathsCheck struct {
	OK        bool   `json:"ok"`
	Found     string `json:"found"`
	Home      string `json:"home"`
	Runtime   string `json:"runtime"`
	Models    string `json:"models"`
	Imprints  string `json:"imprints"`
	Receipts  string `json:"receipts"`
	Pending   string `json:"pending"`
	Writable  bool   `json:"writable"`
	FreeBytes int64  `json:"free_bytes"`
	Todo      string `json:"todo,omitempty"`
}

// enoughSpace is what setup needs at most: the engine, the model, and the packages that they come in.
const enoughSpace = 512 << 20

// Diagnose checks what this package is responsible for, for the model of that name. It changes nothing but the cache of
// identities, and uses no network.
func (s *Store) Diagnose(ctx context.Context, model string) Diagnosis {
	return Diagnosis{Engine: s.checkEngine(ctx), Model: s.checkModel(ctx, model), Paths: s.checkPaths()}
}

func (s *Store) checkEngine(ctx context.Context) EngineCheck {
	r := s.cfg.Release
	c := EngineCheck{Engine: "llama.cpp " + r.Engine, Platform: r.Platform, Package: r.Spec(), Dir: s.runtimeDir()}
	rt, err := s.Runtime(ctx)
	if r.Platform == "" {
		c = EngineCheck{}
	}
	if err != nil {
		f := fault.From(err)
		c.Found, c.Code, c.Todo = f.Message, f.Code, f.NextStep()
		return c
	}
	c.Libraries, c.SHA256 = len(r.Libraries), rt.SHA256
	c.OK, c.Found = true, c.Engine+" for "+r.Platform+", all libraries as pinned"
	return c
}

func (s *Store) checkModel(ctx context.Context, name string) ModelCheck {
	m, err := s.Open(ctx, name)
	if err != nil {
		f := fault.From(err)
		return ModelCheck{Found: f.Message, Code: f.Code, Todo: f.NextStep()}
	}
	found := m.Name + ", as pinned"
	if !m.Pinned {
		found = m.Name + ", a file of your own"
	}
	return ModelCheck{OK: true, Found: found, Model: &m}
}

func (s *Store) checkPaths() PathsCheck {
	h := s.cfg.Home
	c := PathsCheck{Home: h.Path(), Runtime: h.Runtime(), Models: h.Models(), Imprints: h.Imprints(), Receipts: h.Receipts(), Pending: h.Pending()}
	standing := existing(h.Path())
	c.Writable = writable(standing)
	free, err := s.free(standing)
	c.FreeBytes = free
	switch {
	case !c.Writable:
		c.Found, c.Todo = "no right to write into "+standing, "mend its permissions, or set EDGE_HOME to another folder"
	case err != nil:
		c.Found, c.Todo = "no answer about the space in "+standing+": "+err.Error(), "set EDGE_HOME to another folder"
	case free < enoughSpace:
		c.Found, c.Todo = standing+" has little room left", "free some space: setup takes up to 512 MB, and imprints take more"
	default:
		c.OK, c.Found = true, h.Path()
	}
	return c
}

// existing is dir or, where it isn't there yet, the folder in which it would be made. What stands in the way is given
// as it is.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// writable tries, because permissions don't say it all.
func writable(dir string) bool {
	f, err := os.CreateTemp(dir, ".edge-doctor-*")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}
