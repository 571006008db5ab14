package cli

import (
	"time"

	"golang.org/x/sys/unix"
)

// ThreadCPUTime is the processor time that this thread has used. The caller
// stays on its thread.
func ThreadCPUTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
