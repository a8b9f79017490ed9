// Package home says where edge keeps its state, and makes those folders private.
//
// Everything lies under one folder: EDGE_HOME, or else edge/ in the user's data folder. Nothing is created by asking
// for a path; Ensure creates, with mode 0700, because imprints and pending actions hold what the user wrote.
package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Dir is the absolute path of the folder that holds all of edge's state.
type Dir string

// Resolve finds the folder for an operating system (runtime.GOOS) from the environment: EDGE_HOME as it is given,
// else %LOCALAPPDATA%\edge on Windows, else $XDG_DATA_HOME/edge, else ~/.local/share/edge.
func Resolve(getenv func(string) string, goos string) (Dir, error) {
	if dir := getenv("EDGE_HOME"); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("EDGE_HOME %q: %w", dir, err)
		}
		return Dir(abs), nil
	}
	if goos == "windows" {
		if dir := getenv("LOCALAPPDATA"); dir != "" {
			return Dir(filepath.Join(dir, "edge")), nil
		}
		return "", errors.New("no folder for edge's state: neither EDGE_HOME nor LOCALAPPDATA is set")
	}
	// The XDG specification has relative paths ignored.
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return Dir(filepath.Join(dir, "edge")), nil
	}
	if dir := getenv("HOME"); filepath.IsAbs(dir) {
		return Dir(filepath.Join(dir, ".local", "share", "edge")), nil
	}
	return "", errors.New("no folder for edge's state: neither EDGE_HOME, XDG_DATA_HOME nor HOME is set")
}

// Path is the folder itself.
func (d Dir) Path() string { return string(d) }

// Runtime holds the engine libraries, one folder per engine version and platform.
func (d Dir) Runtime() string { return filepath.Join(string(d), "runtime") }

// Models holds GGUF files, and what is known about their identity.
func (d Dir) Models() string { return filepath.Join(string(d), "models") }

// Imprints holds the local store of imprints.
func (d Dir) Imprints() string { return filepath.Join(string(d), "imprints") }

// Python is the file in which the answer of a shim is remembered.
func (d Dir) Python() string { return filepath.Join(string(d), "python.json") }

// Processor is the file that remembers which of the engine's libraries suits the processor; it only saves time.
func (d Dir) Processor() string { return filepath.Join(string(d), "processor.json") }

// Receipts holds the records of what was decided and done.
func (d Dir) Receipts() string { return filepath.Join(string(d), "receipts") }

// Pending holds actions that wait for a confirmation.
func (d Dir) Pending() string { return filepath.Join(string(d), "pending") }

// Hosted holds what hosted tools keep: indexes of folders, and the code interpreter's packages.
func (d Dir) Hosted() string { return filepath.Join(string(d), "hosted") }

// Ensure creates dir and its parents with mode 0700 where they are missing. What exists keeps its mode: it is the
// user's choice. What stands at dir must be a folder.
func Ensure(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create %s: %w", dir, err)
	}
	return nil
}
