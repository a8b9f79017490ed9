package libffi

import (
	"errors"
	_ "unsafe" // for go:linkname

	"github.com/ebitengine/purego"
)

const name = "libffi.so.8"

// absent stands for the library, and for each of its functions, where it isn't there.
const absent = ^uintptr(0)

// The calls by which purego reaches the dynamic linker. There is no other way to answer in the linker's place.
//
//go:linkname dlopen github.com/ebitengine/purego.fnDlopen
var dlopen func(path string, mode int) uintptr

//go:linkname dlsym github.com/ebitengine/purego.fnDlsym
var dlsym func(handle uintptr, name string) uintptr

//go:linkname dlerror github.com/ebitengine/purego.fnDlerror
var dlerror func() string

func init() {
	_, err := purego.Dlopen(name, purego.RTLD_LAZY)
	if err == nil {
		return // it stays open: the next one to open it is given the same
	}
	why, lookUp := err.Error(), dlsym
	dlopen = func(path string, _ int) uintptr {
		if path == name {
			return absent
		}
		return 0
	}
	dlsym = func(handle uintptr, symbol string) uintptr {
		if handle == absent {
			return absent
		}
		return lookUp(handle, symbol)
	}
	dlerror = func() string { return why }
}

// Check gives the dynamic linker's reason where libffi isn't there.
func Check() error {
	if handle, err := purego.Dlopen(name, purego.RTLD_LAZY); err != nil {
		return err
	} else if handle == absent {
		return errors.New(dlerror())
	}
	return nil
}
