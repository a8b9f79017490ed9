package imprint

import "bytes"

// OpenBytes is Open for a file that is in memory.
func OpenBytes(raw []byte) (*Unverified, error) {
	return openReader(bytes.NewReader(raw), int64(len(raw)), "test")
}

// Reencode gives the file's part before the body, as this package writes what it read.
func (u *Unverified) Reencode() ([]byte, error) {
	raw, err := u.header.encode()
	if err != nil {
		return nil, err
	}
	img := image{id: u.id, header: u.header, raw: raw}
	return append(img.prelude().encode(), raw...), nil
}

// ParseAndEncodeHeader gives what this package writes for a header that it read.
func ParseAndEncodeHeader(raw []byte) ([]byte, error) {
	h, err := parseHeader(raw)
	if err != nil {
		return nil, err
	}
	return h.encode()
}

// Lock takes the store's lock, for tests that compete for it.
var Lock = (*Store).lock

// DiskBytes is what entries take up together.
var DiskBytes = diskBytes
