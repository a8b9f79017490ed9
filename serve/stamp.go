package serve

import (
	"io/fs"
	"os"
	"time"
)

// Stamp is what tells, without reading a file, that it may have changed: where it lies, its size, and the times of its
// content and of its entry. The latter no program can set.
type Stamp struct {
	device, inode     uint64
	size              int64
	modified, changed int64 // nanoseconds since 1970
}

// settled is how long a file must have been left alone before its stamp is trusted: a write in the same tick of the file
// system's clock leaves the stamp as it was. File systems tick every 2 s or faster.
const settled = 2 * time.Second

func (s Stamp) quietSince(t time.Time) bool {
	return max(s.modified, s.changed) < t.Add(-settled).UnixNano()
}

// StampOf is the stamp of the file at path; not ok where there is none, or the system tells too little.
func StampOf(path string) (Stamp, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}, false
	}
	return stampOf(info)
}

func stampsOf(files []fs.FileInfo) ([]Stamp, bool) {
	stamps := make([]Stamp, len(files))
	for i, info := range files {
		var ok bool
		if stamps[i], ok = stampOf(info); !ok {
			return nil, false
		}
	}
	return stamps, len(stamps) > 0
}
