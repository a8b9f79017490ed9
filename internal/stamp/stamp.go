// Package stamp tells, without reading a file, that it may have changed.
//
// Its invariant: a file whose content was changed has another stamp, whatever times a program gives it back, provided
// that it had been left alone for a while when the stamp was taken (QuietSince).
package stamp

import (
	"os"
	"time"
)

// Stamp is where a file lies, its size, and when its content and its entry were changed, in nanoseconds since 1970. The
// latter no program can set. Two stamps may be compared with ==.
type Stamp struct {
	Device   string `json:"device"`
	Inode    string `json:"inode"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified_ns"`
	Changed  int64  `json:"changed_ns"`
}

// settled is how long a file must have been left alone: a write in the same tick of the file system's clock leaves the
// stamp as it was. File systems tick every 2 s or faster.
const settled = 2 * time.Second

// QuietSince reports whether no write before t can share a tick with one after it.
func (s Stamp) QuietSince(t time.Time) bool {
	return max(s.Modified, s.Changed) < t.Add(-settled).UnixNano()
}

// OfPath is the stamp of the file at path; not ok where there is none, or the system tells too little.
func OfPath(path string) (Stamp, bool) {
	f, err := os.Open(path)
	if err != nil {
		return Stamp{}, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Stamp{}, false
	}
	return Of(f, info)
}
