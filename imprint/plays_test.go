package imprint_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"edge/imprint"
	"edge/internal/digest"
	"edge/internal/sealed"
)

// Plays are what another edge does with a store, while the sweep interferes with it.
const (
	playPut    = "put one"
	playPrune  = "prune"
	playRemove = "remove"
	playWrite  = "write" // a file beside the store
)

// chained is a content of its own for each n, in layers of which all have the first and every two the second.
func chained(n int) imprint.Content {
	c := layered()
	c.State = sealed.Fresh(pattern(0, 5000), 3).Then(sealed.Fresh(pattern(10+n/2, 50), 1)).Then(sealed.Fresh(pattern(20+n, 700+n), 2))
	return c
}

// stranger is the content that playPut and playWrite publish, and that playRemove removes.
const stranger = 2

func outFile(dir string) string { return filepath.Join(filepath.Dir(dir), "out.imprint") }

// play does one of the plays and gives the process's exit status.
func play(name, dir string) int {
	runtime.LockOSThread() // one thread has all the system calls that matter
	if err := act(name, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func act(name, dir string) error {
	ctx := context.Background()
	if name == playWrite {
		_, err := imprint.Write(ctx, outFile(dir), chained(stranger))
		return err
	}
	s, err := imprint.NewStore(dir)
	if err != nil {
		return err
	}
	switch name {
	case playPut:
		_, err = s.Put(ctx, chained(stranger))
	case playPrune:
		var report imprint.PruneReport
		if report, err = s.Prune(ctx, imprint.PruneOptions{MaxBytes: 1, Now: time.Now()}); err == nil && len(report.Damaged) > 0 {
			err = fmt.Errorf("it left %s alone: %w", report.Damaged[0].Path, report.Damaged[0].Err)
		}
	case playRemove:
		id, idErr := imprint.ComputeID(chained(stranger))
		if err = idErr; err == nil {
			_, err = s.Remove(ctx, id.String())
		}
	default:
		err = fmt.Errorf("there is no play %q", name)
	}
	return err
}

// tree gives the digest of every file under dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		sum, err := digest.SHA256File(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = sum.String()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
