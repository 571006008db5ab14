//go:build !linux

package cli

import "time"

var processStart = time.Now()

// ThreadCPUTime is the elapsed time: the CPU time of a thread is available on Linux only.
func ThreadCPUTime() time.Duration { return time.Since(processStart) }

// processCPUTime is the elapsed time, likewise.
func processCPUTime() time.Duration { return time.Since(processStart) }
