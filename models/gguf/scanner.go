package gguf

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
)

// scanner walks a file through one buffer. Its methods name, for the message, what they were reading.
type scanner struct {
	file io.ReaderAt
	size int64
	base int64 // file offset of buf[0]
	buf  []byte
	pos  int
}

const bufferSize = 256 << 10

func newScanner(file io.ReaderAt, size int64) *scanner {
	return &scanner{file: file, size: size, buf: make([]byte, 0, min(bufferSize, max(size, 0)))}
}

func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

func (s *scanner) left() uint64 { return uint64(s.size - s.offset()) }

// peek gives the next n bytes, n ≤ bufferSize, without passing them; the slice is good until the next call.
func (s *scanner) peek(n int, what string) ([]byte, error) {
	if len(s.buf)-s.pos >= n {
		return s.buf[s.pos : s.pos+n], nil
	}
	if uint64(n) > s.left() {
		return nil, invalidf("it ends inside %s at byte %d", what, s.size)
	}
	s.base, s.pos = s.offset(), 0
	s.buf = s.buf[:min(int64(cap(s.buf)), s.size-s.base)]
	if err := readFull(s.file, s.buf, s.base); err != nil {
		return nil, err
	}
	return s.buf[:n], nil
}

func (s *scanner) bytes(n int, what string) ([]byte, error) {
	b, err := s.peek(n, what)
	s.pos += len(b)
	return b, err
}

// skip passes n bytes, which may be more than the buffer holds.
func (s *scanner) skip(n uint64, what string) error {
	if n > s.left() {
		return invalidf("%s at byte %d would reach beyond the end of the file", what, s.offset())
	}
	if n <= uint64(len(s.buf)-s.pos) {
		s.pos += int(n)
		return nil
	}
	s.base, s.pos, s.buf = s.offset()+int64(n), 0, s.buf[:0]
	return nil
}

func (s *scanner) uint32(what string) (uint32, error) {
	b, err := s.bytes(4, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (s *scanner) uint64(what string) (uint64, error) {
	b, err := s.bytes(8, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// string reads a length and that many bytes; one longer than limit is refused.
func (s *scanner) string(limit uint64, what string) (string, error) {
	n, err := s.uint64(what)
	if err != nil {
		return "", err
	}
	if n > limit || n > s.left() {
		return "", invalidf("%s at byte %d claims to have %d bytes", what, s.offset()-8, n)
	}
	return s.text(int(n))
}

// text reads n bytes, which are known to be there, as a string.
func (s *scanner) text(n int) (string, error) {
	if n <= cap(s.buf) {
		b, err := s.bytes(n, "a text")
		return string(b), err
	}
	b := make([]byte, n)
	if err := readFull(s.file, b, s.offset()); err != nil {
		return "", err
	}
	return string(b), s.skip(uint64(n), "a text")
}

// readFull fills b. What was there when the file was measured and isn't any more is a defect of the file.
func readFull(file io.ReaderAt, b []byte, offset int64) error {
	n, err := file.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return invalidf("it became shorter while it was read")
	}
	return err
}

// value reads the value of v's kind.
func (s *scanner) value(v *value, key string) error {
	switch {
	case v.kind == kindString:
		n, err := s.uint64(key)
		if err != nil {
			return err
		}
		if n > maxKept {
			return s.skip(n, key)
		}
		if n > s.left() {
			return invalidf("%s at byte %d would reach beyond the end of the file", key, s.offset())
		}
		v.kept = true
		v.text, err = s.text(int(n))
		return err
	case v.kind == kindArray:
		return s.array(v, key)
	case v.kind.size() > 0:
		b, err := s.bytes(v.kind.size(), key)
		if err != nil {
			return err
		}
		var wide [8]byte
		copy(wide[:], b)
		v.bits = binary.LittleEndian.Uint64(wide[:])
		if v.kind == kindBool && v.bits > 1 {
			return invalidf("%s is neither true nor false", key)
		}
		return nil
	}
	return invalidf("%s has the unknown type %d", key, v.kind)
}

// array passes an array's elements, holding each string's length against what is left.
func (s *scanner) array(v *value, key string) error {
	code, err := s.uint32(key)
	if err != nil {
		return err
	}
	v.element = kind(code)
	if v.count, err = s.uint64(key); err != nil {
		return err
	}
	switch {
	case v.element == kindString:
		if v.count > s.left()/8 {
			return invalidf("%s claims to have %d elements, more than the file can hold", key, v.count)
		}
		for range v.count {
			n, err := s.uint64(key)
			if err != nil {
				return err
			}
			if err := s.skip(n, key); err != nil {
				return err
			}
		}
		return nil
	case v.element.size() > 0:
		high, size := bits.Mul64(v.count, uint64(v.element.size()))
		if high != 0 || size > s.left() {
			return invalidf("%s claims to have %d elements, more than the file can hold", key, v.count)
		}
		return s.skip(size, key)
	case v.element == kindArray:
		return invalidf("%s is an array of arrays", key)
	}
	return invalidf("%s has elements of the unknown type %d", key, v.element)
}

// tensor is one tensor's description.
type tensor struct {
	name     string
	elements uint64
	offset   uint64
	size     uint64 // in bytes; 0 for a type this package doesn't know
}

func (s *scanner) tensor() (t tensor, err error) {
	if t.name, err = s.string(maxTensorName, "a tensor's name"); err != nil {
		return t, err
	}
	dimensions, err := s.uint32(t.name)
	if err != nil {
		return t, err
	}
	if dimensions > maxDimensions {
		return t, invalidf("tensor %q has %d dimensions, more than %d", t.name, dimensions, maxDimensions)
	}
	t.elements = 1
	row := uint64(1)
	for i := range dimensions {
		n, err := s.uint64(t.name)
		if err != nil {
			return t, err
		}
		if i == 0 {
			row = n
		}
		high, product := bits.Mul64(t.elements, n)
		if high != 0 || product > 1<<62 {
			return t, invalidf("tensor %q has more elements than can be counted", t.name)
		}
		t.elements = product
	}
	code, err := s.uint32(t.name)
	if err != nil {
		return t, err
	}
	if t.offset, err = s.uint64(t.name); err != nil {
		return t, err
	}
	layout, ok := tensorLayout(code)
	if !ok {
		return t, nil
	}
	if row%layout.elements != 0 {
		return t, invalidf("tensor %q has rows of %d elements, which its type can't store", t.name, row)
	}
	high, size := bits.Mul64(t.elements/layout.elements, layout.bytes)
	if high != 0 {
		return t, invalidf("tensor %q is larger than any file", t.name)
	}
	t.size = size
	return t, nil
}
