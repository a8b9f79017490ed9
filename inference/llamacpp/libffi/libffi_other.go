//go:build !linux

package libffi

// Check has nothing to say here: on macOS and Windows the library travels in the program.
func Check() error { return nil }
