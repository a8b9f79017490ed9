package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// idleThreads is how many threads can compute without waiting for each other: the cores, less what is running on them
// right now, and at least one. The engine's threads spin while they wait, so that one thread too many on a busy machine
// makes decoding many times slower, where one too few costs less than half.
func idleThreads() int {
	cores := runtime.NumCPU()
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cores // no Linux: nothing is known
	}
	return max(1, cores-othersRunning(string(stat)))
}

// othersRunning reads procs_running, the number of threads that run or wait for a core, this one among them.
func othersRunning(stat string) int {
	for line := range strings.Lines(stat) {
		if text, ok := strings.CutPrefix(line, "procs_running "); ok {
			if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
				return max(0, n-1)
			}
		}
	}
	return 0
}
