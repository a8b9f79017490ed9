package imprint_test

import (
	"context"
	"fmt"
	"testing"

	"edge/imprint"
	"edge/internal/sealed"
)

// BenchmarkOpen is what steps 1 to 3 cost, whatever the state's size.
func BenchmarkOpen(b *testing.B) {
	path, _ := write(b, full())
	for b.Loop() {
		u, err := imprint.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		u.Close()
	}
}

// BenchmarkVerify is steps 1 to 5: everything between a file's name and a state that an engine may take.
func BenchmarkVerify(b *testing.B) {
	for _, mb := range []int{1, 20, 200} {
		b.Run(fmt.Sprintf("%dMB", mb), func(b *testing.B) {
			c := full()
			c.State = sealed.Fresh(pattern(1, mb<<20), len(c.Tokens))
			path, raw := write(b, c)
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				u, err := imprint.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := u.Verify(context.Background(), c.Identity); err != nil {
					b.Fatal(err)
				}
				u.Close()
			}
		})
	}
}

// BenchmarkCheckIntegrity is the same without keeping the state.
func BenchmarkCheckIntegrity(b *testing.B) {
	c := full()
	c.State = sealed.Fresh(pattern(1, 200<<20), len(c.Tokens))
	path, raw := write(b, c)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		u, err := imprint.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if err := u.CheckIntegrity(context.Background()); err != nil {
			b.Fatal(err)
		}
		u.Close()
	}
}
