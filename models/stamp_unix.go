//go:build linux || darwin

package models

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"
)

// stampOf is what the operating system says about an open file. The inode's change time is among it, which no program
// can set: a file that was written to and given its old time back has another stamp.
func stampOf(_ *os.File, info fs.FileInfo) (stamp, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return stamp{
		Device:   strconv.FormatUint(uint64(st.Dev), 10),
		Inode:    strconv.FormatUint(st.Ino, 10),
		Size:     info.Size(),
		Modified: info.ModTime().UTC(),
		Changed:  changed(st).UTC(),
	}, true
}

func timeOf(ts syscall.Timespec) time.Time { return time.Unix(ts.Unix()) }
