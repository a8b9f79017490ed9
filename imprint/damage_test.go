package imprint_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"edge/imprint"
	"edge/internal/fault"
	"edge/internal/sealed"
)

// wantDamage wants a refusal that calls the file corrupt or stale, never anything else.
func wantDamage(t *testing.T, what string, err error) {
	t.Helper()
	var r *imprint.Refusal
	if !errors.As(err, &r) {
		t.Errorf("%s: got %v, want a refusal", what, err)
		return
	}
	if c := r.Fault.Class(); c != fault.Corrupt && c != fault.Stale {
		t.Errorf("%s: got the class %s: %v", what, c, err)
	}
}

// large is a content whose state fills more than two segments.
func large() imprint.Content {
	c := full()
	c.State = sealed.Fresh(pattern(5, 2*sealed.SegmentSize+4321), len(c.Tokens))
	return c
}

// imprint-v1 §6, steps 1 and 2.
func TestEveryBitOfPreludeAndHeaderCounts(t *testing.T) {
	for name, c := range map[string]imprint.Content{"full": full(), "small": small()} {
		t.Run(name, func(t *testing.T) {
			_, raw := write(t, c)
			if err := check(raw); err != nil {
				t.Fatal(err)
			}
			header, _ := split(raw)
			for bit := range 8 * (preludeSize + len(header)) {
				wantDamage(t, fmt.Sprintf("bit %d", bit), check(flip(raw, bit)))
			}
		})
	}
}

// imprint-v1 §6, step 5.
func TestEveryBitOfTheSectionsCounts(t *testing.T) {
	_, raw := write(t, full())
	u, err := imprint.OpenBytes(raw)
	if err != nil {
		t.Fatal(err)
	}
	_, body := split(raw)
	for _, s := range u.Header().Sections {
		content := body[s.Offset:][:s.Length]
		for bit := range 8 * len(content) {
			content[bit/8] ^= 1 << (bit % 8)
			wantRefusal(t, u.CheckIntegrity(context.Background()), fault.CodeImprintPayloadMismatch, imprint.StepPayload)
			content[bit/8] ^= 1 << (bit % 8)
		}
	}
	if err := check(raw); err != nil {
		t.Errorf("the undamaged file: %v", err)
	}
}

// imprint-v1 §3: every byte between the header and a section, and between sections, is zero.
func TestPaddingCounts(t *testing.T) {
	_, raw := write(t, full())
	header, body := split(raw)
	start := len(raw) - len(body)
	pad := func(from, to int, code fault.Code) {
		for at := from; at < to; at++ {
			if at%5 != 0 && at != from && at != to-1 {
				continue // each of these parses the whole header
			}
			raw[at] ^= 1 << (at % 8)
			wantRefusal(t, check(raw), code, imprint.StepSize)
			raw[at] ^= 1 << (at % 8)
		}
	}
	pad(preludeSize+len(header), start, fault.CodeImprintHeaderMalformed)
	pad(start+12, start+alignment, fault.CodeImprintPayloadMismatch)
	pad(start+alignment+100, start+2*alignment, fault.CodeImprintPayloadMismatch)
}

// imprint-v1 §6, step 5. A state, damaged in place: what Open read of it is right, what step 5 reads isn't.
func TestRandomBitsOfThePayloadCount(t *testing.T) {
	middle := full()
	middle.State = sealed.Fresh(pattern(6, 100_000), len(middle.Tokens))
	for _, c := range []struct {
		content imprint.Content
		flips   int
	}{{middle, 2000}, {large(), 20}} {
		_, raw := write(t, c.content)
		u, err := imprint.OpenBytes(raw)
		if err != nil {
			t.Fatal(err)
		}
		state := raw[int64(len(raw))-u.Header().PayloadBytes():]
		random := rand.New(rand.NewPCG(7, 7))
		for range c.flips {
			at, mask := random.IntN(len(state)), byte(1)<<random.IntN(8)
			state[at] ^= mask
			wantRefusal(t, u.CheckIntegrity(context.Background()), fault.CodeImprintPayloadMismatch, imprint.StepPayload)
			v, err := u.Verify(context.Background(), c.content.Identity)
			if v != nil {
				t.Errorf("byte %d ^ %#x was verified", at, mask)
			}
			wantRefusal(t, err, fault.CodeImprintPayloadMismatch, imprint.StepPayload)
			state[at] ^= mask
		}
		if err := check(raw); err != nil {
			t.Errorf("the undamaged file: %v", err)
		}
	}
}

// imprint-v1 §6, steps 1 and 3.
func TestEveryTruncationIsTold(t *testing.T) {
	_, raw := write(t, full())
	header, _ := split(raw)
	for n := range len(raw) {
		step := imprint.StepSize
		if n < preludeSize+len(header) {
			step = imprint.StepPrelude
		} else if n%7 != 0 && n != len(raw)-1 {
			continue // each of these parses the whole header
		}
		wantRefusal(t, check(raw[:n]), fault.CodeImprintTruncated, step)
		if t.Failed() {
			t.Fatalf("%d of %d bytes", n, len(raw))
		}
	}
}

// imprint-v1 §3: the file ends with the last byte of the last section.
func TestEveryExtensionIsTold(t *testing.T) {
	_, raw := write(t, full())
	for _, more := range [][]byte{{0}, {1}, make([]byte, alignment), raw} {
		wantRefusal(t, check(append(bytes.Clone(raw), more...)), fault.CodeImprintTrailingData, imprint.StepSize)
	}
}

func TestSwappedContents(t *testing.T) {
	_, raw := write(t, full()) // learned part and state are both 100 bytes
	u, err := imprint.OpenBytes(raw)
	if err != nil {
		t.Fatal(err)
	}
	_, body := split(raw)
	s := u.Header().Sections
	learned, state := body[s[1].Offset:][:100], body[s[2].Offset:][:100]
	for i := range learned {
		learned[i], state[i] = state[i], learned[i]
	}
	wantRefusal(t, check(raw), fault.CodeImprintPayloadMismatch, imprint.StepPayload)

	_, raw = write(t, large()) // two segments of the state
	_, body = split(raw)
	a := body[s[2].Offset:][:sealed.SegmentSize]
	b := body[s[2].Offset+sealed.SegmentSize:][:sealed.SegmentSize]
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
	wantRefusal(t, check(raw), fault.CodeImprintPayloadMismatch, imprint.StepPayload)
}

func TestAHeaderOverAnotherPayload(t *testing.T) {
	_, raw := write(t, full())
	other := full()
	other.State = sealed.Fresh(pattern(1, 100), len(other.Tokens))
	_, otherRaw := write(t, other)
	_, body := split(raw)
	_, otherBody := split(otherRaw)
	copy(body, otherBody)
	wantRefusal(t, check(raw), fault.CodeImprintPayloadMismatch, imprint.StepPayload)
}

// imprint-v1 §6, step 1. A length is never believed before it was compared with the file's: no declared number makes edge allocate.
func TestDeclaredLengthsAllocateNothing(t *testing.T) {
	_, raw := write(t, full())
	prelude := func(headerLength uint32, fileSize uint64) []byte {
		out := bytes.Clone(raw)
		binary.LittleEndian.PutUint32(out[12:], headerLength)
		binary.LittleEndian.PutUint64(out[16:], fileSize)
		return out
	}
	// A header of nearly 1 MiB that is consistent, for a state of 40 GiB.
	const gigantic = 10000
	huge := reheader(t, raw, func(h object) {
		state := h["sections"].([]any)[2].(object)
		segments := make([]any, gigantic)
		seal := sealed.Seal{Length: gigantic * sealed.SegmentSize}
		for i := range segments {
			segments[i] = h["sections"].([]any)[0].(object)["blake3"]
			var d imprint.ID
			if err := d.UnmarshalText([]byte(segments[i].(string))); err != nil {
				t.Fatal(err)
			}
			seal.Segments = append(seal.Segments, d)
		}
		state["length"], state["segments"], state["blake3"] = seal.Length, segments, seal.Digest()
	})
	binary.LittleEndian.PutUint64(huge[16:], binary.LittleEndian.Uint64(huge[16:])-100+gigantic*sealed.SegmentSize)
	for name, c := range map[string]struct {
		raw   []byte
		code  fault.Code
		limit uint64
	}{
		"header length":            {prelude(math.MaxUint32, math.MaxUint64), fault.CodeImprintHeaderMalformed, 64 << 10},
		"header as long as may be": {prelude(imprint.MaxHeader, math.MaxUint64), fault.CodeImprintTruncated, 64 << 10},
		"file size":                {prelude(binary.LittleEndian.Uint32(raw[12:]), math.MaxUint64), fault.CodeImprintHeaderMalformed, 512 << 10},
		"section length": {reheader(t, raw, func(h object) { h["sections"].([]any)[2].(object)["length"] = 1 << 52 }),
			fault.CodeImprintHeaderMalformed, 512 << 10},
		"40 GiB of segments": {huge, fault.CodeImprintTruncated, 32 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := check(c.raw)
			runtime.ReadMemStats(&after)
			if fault.From(err).Code != c.code {
				t.Errorf("got %v, want %s", err, c.code)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > c.limit {
				t.Errorf("allocated %d bytes, want at most %d", used, c.limit)
			}
		})
	}
}

func TestOpenNamesWhatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"missing": filepath.Join(dir, "no.imprint"), "folder": dir, "inside a file": filepath.Join(file, "x"),
		"long": filepath.Join(dir, string(bytes.Repeat([]byte("x"), 5000))),
	} {
		if _, err := imprint.Open(path); !fault.Is(err, fault.CodeImprintNotFound) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, err := imprint.Open(file)
	wantRefusal(t, err, fault.CodeImprintTruncated, imprint.StepPrelude)
}

// imprint-v1 §6, step 5: a file that became shorter since step 3.
func TestAFileThatIsCutWhileItIsOpen(t *testing.T) {
	path, raw := write(t, large())
	u, err := imprint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	if err := os.Truncate(path, int64(len(raw)-1)); err != nil {
		t.Fatal(err)
	}
	_, err = u.Verify(context.Background(), large().Identity)
	wantRefusal(t, err, fault.CodeImprintTruncated, imprint.StepPayload)
	wantRefusal(t, u.CheckIntegrity(context.Background()), fault.CodeImprintTruncated, imprint.StepPayload)
}
