//go:build !linux && !darwin && !windows

package models

import (
	"io/fs"
	"os"
)

// stampOf knows of nothing that would betray a changed file here, so files are hashed each time.
func stampOf(*os.File, fs.FileInfo) (stamp, bool) { return stamp{}, false }
