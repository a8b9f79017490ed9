//go:build !unix

package serve

// permissionsCount says that a file's mode tells nothing here.
func permissionsCount() bool { return false }
