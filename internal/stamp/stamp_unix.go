//go:build linux || darwin

package stamp

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// Of is what the operating system says about an open file. The inode's change time is among it, which no program
// can set: a file that was written to and given its old time back has another stamp.
func Of(_ *os.File, info fs.FileInfo) (Stamp, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stamp{}, false
	}
	return Stamp{
		Device:   strconv.FormatUint(uint64(st.Dev), 10),
		Inode:    strconv.FormatUint(st.Ino, 10),
		Size:     info.Size(),
		Modified: info.ModTime().UnixNano(),
		Changed:  changed(st),
	}, true
}
