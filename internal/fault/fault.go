// Package fault holds the one table of error codes: code → class → exit status → hint.
//
// Every error that reaches a user is a *Error. Packages return one where the failure has a code of its own and plain
// wrapped errors elsewhere; From turns whatever arrives at the top into an *Error. The table is a function's value, so
// that nothing can change it at run time. Codes are only ever added.
package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"syscall"
)

// Class groups codes that a script treats alike; each has one exit status.
type Class string

// The classes of the contract. Exit status 2 is left to Go's own panics.
const (
	Internal  Class = "internal"
	Usage     Class = "usage"
	Missing   Class = "missing"
	Drift     Class = "drift"
	Corrupt   Class = "corrupt"
	Stale     Class = "stale"
	Tool      Class = "tool"
	Limit     Class = "limit"
	Confirm   Class = "confirm"
	Engine    Class = "engine"
	Cancelled Class = "cancelled"
)

// Exit is the process's exit status for the class; an unknown class is a bug and exits 1.
func (c Class) Exit() int {
	switch c {
	case Usage:
		return 3
	case Missing:
		return 10
	case Drift:
		return 11
	case Corrupt:
		return 12
	case Stale:
		return 13
	case Tool:
		return 20
	case Limit:
		return 21
	case Confirm:
		return 22
	case Engine:
		return 30
	case Cancelled:
		return 130
	}
	return 1
}

// Mismatch is one identity field whose live value differs from the recorded one.
type Mismatch struct {
	Field string `json:"field"`
	Want  string `json:"want"`
	Got   string `json:"got"`
}

// Problem is one finding in a tools file, with the place where the user can mend it.
type Problem struct {
	Code      Code   `json:"code"`
	File      string `json:"file,omitempty"`
	Tool      string `json:"tool,omitempty"`
	Parameter string `json:"parameter,omitempty"`
	Line      int    `json:"line,omitempty"`
	Message   string `json:"message"`
}

// Error is a failure with a code. Message names the thing; Hint names the next step and defaults to the table's.
type Error struct {
	Code       Code
	Message    string
	Hint       string
	Mismatches []Mismatch
	Problems   []Problem
	Err        error
}

// New makes an error of code with a formatted message; %w works as in fmt.Errorf, also more than once.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	cause := errors.Unwrap(err)
	if _, several := err.(interface{ Unwrap() []error }); several {
		cause = err
	}
	return &Error{Code: code, Message: err.Error(), Err: cause}
}

// WithHint replaces the table's hint by one that knows the case at hand.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// Class is the class of e's code; a code that the table lacks is a bug.
func (e *Error) Class() Class {
	if row, ok := Lookup(e.Code); ok {
		return row.Class
	}
	return Internal
}

// NextStep is the hint of this error, or else the table's for its code.
func (e *Error) NextStep() string {
	if e.Hint != "" {
		return e.Hint
	}
	row, _ := Lookup(e.Code)
	return row.Hint
}

// Is reports whether err carries code anywhere in its chain.
func Is(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// From gives err as an *Error: its own if it carries one, a cancellation, a storage failure that the operating system
// named, or else an internal error. A nil err gives nil.
func From(err error) *Error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled):
		return &Error{Code: CodeCancelled, Message: "cancelled", Err: err}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG), windowsErrno(err, errHandleDiskFull, errDiskFull):
		return &Error{Code: CodeNoSpace, Message: err.Error(), Err: err}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), windowsErrno(err, errWriteProtect):
		return &Error{Code: CodePathNotWritable, Message: err.Error(), Err: err}
	}
	return &Error{Code: CodeInternal, Message: err.Error(), Err: err}
}

// Windows' own numbers for what POSIX calls EROFS and ENOSPC; they mean other things elsewhere.
const (
	errWriteProtect   syscall.Errno = 19
	errHandleDiskFull syscall.Errno = 39
	errDiskFull       syscall.Errno = 112
)

func windowsErrno(err error, numbers ...syscall.Errno) bool {
	var errno syscall.Errno
	return runtime.GOOS == "windows" && errors.As(err, &errno) && slices.Contains(numbers, errno)
}
