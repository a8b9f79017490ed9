//go:build unix

package serve

// permissionsCount says that a file's mode tells who may do what.
func permissionsCount() bool { return true }
