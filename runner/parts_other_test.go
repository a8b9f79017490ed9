//go:build !linux

package runner

// playOtherParts has nothing to play here.
func playOtherParts() {}
