package cli

import (
	"time"

	"golang.org/x/sys/unix"
)

// processCPUTime is the processor time that this process has used.
func processCPUTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// ThreadCPUTime is the processor time that this thread has used. The caller
// stays on its thread.
func ThreadCPUTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
