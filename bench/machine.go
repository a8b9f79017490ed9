package bench

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Machine is where it was measured. What the system doesn't tell is empty.
type Machine struct {
	OS         string   `json:"os"`
	Arch       string   `json:"arch"`
	CPU        string   `json:"cpu"`
	Cores      int      `json:"cores"`
	Flags      []string `json:"flags"` // of those that matter to the engine
	Memory     int64    `json:"memory_bytes"`
	Kernel     string   `json:"kernel"`
	Governor   string   `json:"governor"`
	LoadBefore *float64 `json:"load_before"` // tasks that ran or wanted to, over the last minute
	LoadAfter  *float64 `json:"load_after"`
}

// reader reads a whole file, as os.ReadFile does.
type reader func(path string) ([]byte, error)

func describeMachine(read reader) Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Flags: []string{}, LoadBefore: load(read)}
	m.CPU = field(read, "/proc/cpuinfo", "model name")
	flags := field(read, "/proc/cpuinfo", "flags") + " " + field(read, "/proc/cpuinfo", "Features")
	for _, f := range strings.Fields(flags) {
		if slices.Contains([]string{"avx", "avx2", "f16c", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_int8", "asimd", "asimddp", "i8mm", "sve"}, f) {
			m.Flags = append(m.Flags, f)
		}
	}
	if kb, err := strconv.ParseInt(strings.TrimSuffix(field(read, "/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		m.Memory = kb << 10
	}
	m.Kernel = line(read, "/proc/sys/kernel/osrelease")
	m.Governor = line(read, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	return m
}

func line(read reader, path string) string {
	raw, err := read(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// field is the first value of a name in a file of "name : value" lines.
func field(read reader, path, name string) string {
	raw, err := read(path)
	if err != nil {
		return ""
	}
	for l := range strings.Lines(string(raw)) {
		if key, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func load(read reader) *float64 {
	first, _, _ := strings.Cut(line(read, "/proc/loadavg"), " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return nil
	}
	return &v
}
