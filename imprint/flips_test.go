package imprint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"edge/imprint"
	"edge/internal/fault"
	"edge/internal/sealed"
)

// TestDamagedFiles damages an imprint in many ways, in a file of its own and in every file of a store, and counts what edge
// says. Nothing is accepted, everything is refused as corrupt or stale, and reading what is damaged allocates no more than
// reading what is whole: nothing by what the file says of itself.
//
//	EDGE_DAMAGE=full go test -v -run TestDamagedFiles ./imprint
//
// Without EDGE_DAMAGE there is less of everything.
func TestDamagedFiles(t *testing.T) {
	much := amount{flips: 3000, rounds: 100, stride: 11}
	if os.Getenv("EDGE_DAMAGE") == "full" {
		much = amount{flips: 100_000, rounds: 1000, stride: 1}
	}
	t.Run("file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "x.imprint")
		other := filepath.Join(t.TempDir(), "other.imprint")
		for path, c := range map[string]imprint.Content{file: damageable(1), other: damageable(2)} {
			if _, err := imprint.Write(context.Background(), path, c); err != nil {
				t.Fatal(err)
			}
		}
		d := newDamage(t, []string{file}, []string{other}, func() error {
			u, err := imprint.Open(file)
			if err != nil {
				return err
			}
			defer u.Close()
			return u.CheckIntegrity(context.Background())
		})
		d.all(much)
	})
	t.Run("store", func(t *testing.T) {
		s, other := newStore(t), newStore(t)
		e := put(t, s, damageable(1))
		put(t, other, damageable(2))
		d := newDamage(t, contentsOf(t, s), contentsOf(t, other), func() error {
			_, err := s.Lookup(context.Background(), e.ID)
			return err
		})
		d.named = true
		much.flips /= 2 * len(d.files)
		d.all(much)
	})
}

// amount is how much damage is done: random flips, random damage of other kinds, and every how manieth bit and cut of
// prelude and header.
type amount struct{ flips, rounds, stride int }

// damageable is a content of three layers that look random, as a model's do, of 200 kB together.
func damageable(seed byte) imprint.Content {
	c := layered()
	state := make([]byte, 200_000)
	rand.NewChaCha8([32]byte{seed}).Read(state)
	c.State = sealed.Fresh(state[:120_000], 3).Then(sealed.Fresh(state[120_000:150_000], 1)).Then(sealed.Fresh(state[150_000:], 2))
	return c
}

// contentsOf gives the paths of a store's files, but for its lock.
func contentsOf(t *testing.T, s *imprint.Store) (paths []string) {
	t.Helper()
	for name := range tree(t, s.Dir()) {
		if filepath.Base(name) != ".lock" {
			paths = append(paths, filepath.Join(s.Dir(), name))
		}
	}
	slices.Sort(paths)
	return paths
}

// damage is one imprint, in a file or in several, that is spoiled and mended again.
type damage struct {
	t      *testing.T
	files  []*spoilable
	others [][]byte // the files of another imprint of the same kind
	named  bool     // the files' names say what has to be in them
	read   func() error
	random *rand.Rand
	total  int
	// Bytes allocated by reading what is whole, and at most by reading what isn't.
	whole, largest uint64
}

type spoilable struct {
	path string
	raw  []byte
	head int // bytes of what describes the rest: prelude and header; 0 where the file has none
}

func newDamage(t *testing.T, paths, others []string, read func() error) *damage {
	t.Helper()
	slurp := func(path string) []byte {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	d := &damage{t: t, read: read, random: rand.New(rand.NewPCG(3, 3))}
	for _, path := range paths {
		f := &spoilable{path: path, raw: slurp(path)}
		if bytes.HasPrefix(f.raw, []byte(imprint.Magic)) {
			header, _ := split(f.raw)
			f.head = preludeSize + len(header)
		}
		d.files = append(d.files, f)
		d.total += len(f.raw)
	}
	for _, path := range others {
		d.others = append(d.others, slurp(path))
	}
	var err error
	if d.whole, err = d.measured(); err != nil {
		t.Fatalf("undamaged: %v", err)
	}
	return d
}

// tries counts what was said, by kind of damage.
type tries struct {
	name  string
	n     int
	codes map[fault.Code]int
}

// try reads what is spoiled now.
func (d *damage) try(k *tries, what string) {
	d.t.Helper()
	allocated, err := d.measured()
	d.largest = max(d.largest, allocated)
	k.n++
	if err == nil {
		d.t.Errorf("%s: %s: accepted", k.name, what)
		return
	}
	k.codes[fault.From(err).Code]++
	var r *imprint.Refusal
	if !errors.As(err, &r) || r.Fault.Class() != fault.Corrupt && r.Fault.Class() != fault.Stale {
		d.t.Errorf("%s: %s: got %v, want a refusal as corrupt or stale", k.name, what, err)
	}
}

// measured reads, and gives how many bytes that allocated.
func (d *damage) measured() (allocated uint64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = d.read()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

// with has f hold raw while do runs.
func (d *damage) with(f *spoilable, raw []byte, do func()) {
	d.t.Helper()
	for i, content := range [][]byte{raw, f.raw} {
		if err := os.WriteFile(f.path, content, 0o600); err != nil {
			d.t.Fatal(err)
		}
		if i == 0 {
			do()
		}
	}
}

// flip flips bits of f, one at a time, in place.
func (d *damage) flip(k *tries, f *spoilable, bits func(yield func(int) bool)) {
	d.t.Helper()
	open, err := os.OpenFile(f.path, os.O_RDWR, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer open.Close()
	write := func(at int, b byte) {
		if _, err := open.WriteAt([]byte{b}, int64(at)); err != nil {
			d.t.Fatal(err)
		}
	}
	for bit := range bits {
		write(bit/8, f.raw[bit/8]^1<<(bit%8))
		d.try(k, fmt.Sprintf("bit %d of %s", bit, filepath.Base(f.path)))
		write(bit/8, f.raw[bit/8])
	}
}

// all damages each file in every way and prints the table.
func (d *damage) all(much amount) {
	d.t.Helper()
	var table []*tries
	kind := func(name string, do func(k *tries, f *spoilable)) {
		k := &tries{name, 0, map[fault.Code]int{}}
		table = append(table, k)
		for _, f := range d.files {
			do(k, f)
		}
	}
	kind("bits of prelude and header", func(k *tries, f *spoilable) {
		d.flip(k, f, func(yield func(int) bool) {
			for bit := 0; bit < 8*f.head && yield(bit); bit += much.stride {
			}
		})
	})
	kind("random bits of all of it", func(k *tries, f *spoilable) {
		d.flip(k, f, func(yield func(int) bool) {
			for n := 0; n < much.flips && yield(d.random.IntN(8*len(f.raw))); n++ {
			}
		})
	})
	kind("truncations within prelude and header", func(k *tries, f *spoilable) {
		for n := 0; n < f.head; n += much.stride {
			d.with(f, f.raw[:n], func() { d.try(k, fmt.Sprintf("%d bytes", n)) })
		}
	})
	kind("random truncations", func(k *tries, f *spoilable) {
		for range much.rounds {
			n := d.random.IntN(len(f.raw))
			d.with(f, f.raw[:n], func() { d.try(k, fmt.Sprintf("%d bytes", n)) })
		}
	})
	kind("random extensions", func(k *tries, f *spoilable) {
		for range much.rounds {
			more := make([]byte, 1+d.random.IntN(len(f.raw)))
			for i := range more {
				more[i] = byte(d.random.Uint32())
			}
			d.with(f, slices.Concat(f.raw, more), func() { d.try(k, fmt.Sprintf("%d bytes more", len(more))) })
		}
	})
	kind("two pieces in each other's place", func(k *tries, f *spoilable) {
		for range much.rounds {
			n := 1 + d.random.IntN(len(f.raw)/2)
			a := d.random.IntN(len(f.raw) - 2*n + 1)
			b := a + n + d.random.IntN(len(f.raw)-2*n-a+1)
			raw := slices.Concat(f.raw[:a], f.raw[b:b+n], f.raw[a+n:b], f.raw[a:a+n], f.raw[b+n:])
			if !bytes.Equal(raw, f.raw) {
				d.with(f, raw, func() { d.try(k, fmt.Sprintf("%d bytes at %d and %d", n, a, b)) })
			}
		}
	})
	kind("begun as this, ended as another", func(k *tries, f *spoilable) {
		for _, other := range d.others {
			for n := alignment; n < min(len(f.raw), len(other)); n += alignment {
				raw := slices.Concat(f.raw[:n], other[n:])
				if !bytes.Equal(raw, f.raw) && !bytes.Equal(raw, other) {
					d.with(f, raw, func() { d.try(k, fmt.Sprintf("from byte %d on", n)) })
				}
			}
		}
	})
	if d.named {
		kind("one file under another's name", func(k *tries, f *spoilable) {
			all := d.others
			for _, g := range d.files {
				all = append(all, g.raw)
			}
			for i, raw := range all {
				if !bytes.Equal(raw, f.raw) {
					d.with(f, raw, func() { d.try(k, fmt.Sprintf("file %d", i)) })
				}
			}
		})
	}
	if err := d.read(); err != nil {
		d.t.Errorf("mended: %v", err)
	}
	d.t.Logf("%d files of %d bytes", len(d.files), d.total)
	for _, k := range table {
		var said []string
		for _, code := range slices.Sorted(maps.Keys(k.codes)) {
			said = append(said, fmt.Sprintf("%s %d", code, k.codes[code]))
		}
		d.t.Logf("%7d %-44s %s", k.n, k.name, strings.Join(said, ", "))
	}
	d.t.Logf("reading allocates %d bytes where all is whole, and at most %d where it isn't", d.whole, d.largest)
	const words = 64 << 10 // for what is said about the damage
	if d.largest > d.whole+words {
		d.t.Errorf("reading %d damaged bytes allocated %d", d.total, d.largest)
	}
}
