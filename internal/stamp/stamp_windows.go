package stamp

import (
	"encoding/binary"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/windows"
)

// Of is what the operating system says about an open file: FILE_BASIC_INFO has the change time, which programs
// don't set in passing, and the volume's serial number with the file's index tells one file from another.
func Of(f *os.File, info fs.FileInfo) (Stamp, bool) {
	handle := windows.Handle(f.Fd())
	var id windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(handle, &id); err != nil {
		return Stamp{}, false
	}
	// Four times of 8 bytes (creation, access, write, change), the attributes, and padding.
	basic := make([]byte, 40)
	if err := windows.GetFileInformationByHandleEx(handle, windows.FileBasicInfo, &basic[0], uint32(len(basic))); err != nil {
		return Stamp{}, false
	}
	ticks := binary.LittleEndian.Uint64(basic[24:32])
	change := windows.Filetime{LowDateTime: uint32(ticks), HighDateTime: uint32(ticks >> 32)}
	return Stamp{
		Device:   strconv.FormatUint(uint64(id.VolumeSerialNumber), 10),
		Inode:    strconv.FormatUint(uint64(id.FileIndexHigh)<<32|uint64(id.FileIndexLow), 10),
		Size:     info.Size(),
		Modified: info.ModTime().UnixNano(),
		Changed:  change.Nanoseconds(),
	}, true
}
