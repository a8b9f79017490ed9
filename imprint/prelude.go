package imprint

import (
	"encoding/binary"

	"edge/internal/digest"
	"edge/internal/fault"
)

const (
	// Magic is how every imprint begins.
	Magic = "EDGEIMP\x00"
	// MaxHeader bounds the header's length in bytes.
	MaxHeader = 1 << 20
	// Alignment of the body and of every section in it: a memory page of most machines.
	Alignment = 4096

	preludeSize = len(Magic) + 4 + 4 + 8 + 32
	// maxBody keeps every sum of offsets exact in any JSON reader and far from overflow.
	maxBody = 1 << 52
)

// prelude is the fixed part before the header. Its layout is the same in every format version.
type prelude struct {
	version      uint32
	headerLength uint32
	fileSize     uint64
	headerDigest digest.BLAKE3
}

func (p prelude) encode() []byte {
	raw := append(make([]byte, 0, preludeSize), Magic...)
	raw = binary.LittleEndian.AppendUint32(raw, p.version)
	raw = binary.LittleEndian.AppendUint32(raw, p.headerLength)
	raw = binary.LittleEndian.AppendUint64(raw, p.fileSize)
	return append(raw, p.headerDigest[:]...)
}

// parsePrelude is gate step 1. raw is the file's first preludeSize bytes, or the whole of a shorter file of size bytes.
func parsePrelude(raw []byte, size int64) (prelude, error) {
	if n := min(len(raw), len(Magic)); string(raw[:n]) != Magic[:n] {
		return prelude{}, fault.New(fault.CodeImprintHeaderMalformed, "it isn't an imprint: it begins with %q", raw[:n])
	}
	if len(raw) < preludeSize {
		return prelude{}, fault.New(fault.CodeImprintTruncated, "%d bytes are less than the %d that every imprint begins with", len(raw), preludeSize)
	}
	rest := raw[len(Magic):]
	p := prelude{
		version:      binary.LittleEndian.Uint32(rest),
		headerLength: binary.LittleEndian.Uint32(rest[4:]),
		fileSize:     binary.LittleEndian.Uint64(rest[8:]),
		headerDigest: digest.BLAKE3(rest[16:]),
	}
	if p.headerLength < 1 || p.headerLength > MaxHeader {
		return p, fault.New(fault.CodeImprintHeaderMalformed, "header length: got %d, want 1 to %d", p.headerLength, MaxHeader)
	}
	headerEnd := uint64(preludeSize) + uint64(p.headerLength)
	if p.fileSize < headerEnd {
		return p, fault.New(fault.CodeImprintHeaderMalformed, "a header that ends at byte %d in a file of %d", headerEnd, p.fileSize)
	}
	// Only now: in a prelude that makes no sense, the version may be the damaged part.
	if p.version != FormatVersion {
		return p, fault.New(fault.CodeImprintFormatUnsupported, "format version: got %d, want %d", p.version, FormatVersion)
	}
	if uint64(size) < headerEnd {
		return p, fault.New(fault.CodeImprintTruncated, "the header ends at byte %d, the file at %d", headerEnd, size)
	}
	return p, nil
}

// bodyStart is where the first section begins.
func (p prelude) bodyStart() int64 { return align(int64(preludeSize) + int64(p.headerLength)) }

func align(n int64) int64 { return (n + Alignment - 1) / Alignment * Alignment }
