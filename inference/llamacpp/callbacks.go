package llamacpp

import (
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
)

// logTail keeps the engine's last warnings and errors, so that a failed call can say why. The engine's log never
// reaches the user's terminal by itself.
type logTail struct {
	callback uintptr
	mu       sync.Mutex
	lines    []string
}

const (
	logWarn      = 3 // GGML_LOG_LEVEL_WARN
	logContinue  = 5 // GGML_LOG_LEVEL_CONT: goes on with the line before
	logKept      = 8
	logLineLimit = 400
)

// newLogTail registers `void (*ggml_log_callback)(enum ggml_log_level level, const char * text, void * user_data)`.
func newLogTail() *logTail {
	t := &logTail{}
	last := atomic.Int32{}
	t.callback = purego.NewCallback(func(level int32, text *byte, _ uintptr) uintptr {
		if level == logContinue {
			level = last.Load()
		}
		last.Store(level)
		if level == logWarn || level == logWarn+1 {
			t.add(cString(text, logLineLimit))
		}
		return 0
	})
	return t
}

func (t *logTail) add(line string) {
	if line = strings.TrimSpace(line); len(line) < 2 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines = append(t.lines, line); len(t.lines) > logKept {
		t.lines = t.lines[1:]
	}
}

func (t *logTail) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = nil
}

// suffix is what to append to an error message.
func (t *logTail) suffix() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == 0 {
		return ""
	}
	return ": " + strings.Join(t.lines, "; ")
}

// cString copies a NUL-terminated C string of at most limit bytes.
func cString(p *byte, limit int) string {
	if p == nil {
		return ""
	}
	n := 0
	for n < limit && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// abortSlots is one C callback for all contexts: purego can make 2,000 of them in a process's life, so each context
// gets the index of a flag instead of a callback of its own.
type abortSlots struct {
	callback uintptr
	mu       sync.Mutex
	flags    atomic.Pointer[[]*atomic.Bool]
	free     []int
}

// newAbortSlots registers `bool (*ggml_abort_callback)(void * data)`; data is the flag's index.
func newAbortSlots() *abortSlots {
	s := &abortSlots{}
	s.flags.Store(&[]*atomic.Bool{})
	s.callback = purego.NewCallback(func(data uintptr) uintptr {
		if flags := *s.flags.Load(); data < uintptr(len(flags)) && flags[data].Load() {
			return 1
		}
		return 0
	})
	return s
}

func (s *abortSlots) take() (int, *atomic.Bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	flags := *s.flags.Load()
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		flags[i].Store(false)
		return i, flags[i]
	}
	flag := &atomic.Bool{}
	grown := append(append([]*atomic.Bool{}, flags...), flag)
	s.flags.Store(&grown)
	return len(grown) - 1, flag
}

func (s *abortSlots) give(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, i)
}
