//go:build linux || darwin

package serve

import (
	"io/fs"
	"syscall"
)

func stampOf(info fs.FileInfo) (Stamp, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stamp{}, false
	}
	return Stamp{
		device: uint64(st.Dev), inode: st.Ino, size: info.Size(),
		modified: info.ModTime().UnixNano(), changed: changed(st),
	}, true
}
