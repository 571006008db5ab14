package burn

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// CPU uses so much CPU time on a thread of its own. What first does on the thread counts as a part
// of it; first may be nil.
func CPU(d time.Duration, first func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	end := threadCPU() + d.Nanoseconds()
	if first != nil {
		first()
	}
	spins := 0
	for threadCPU() < end {
		for range 2000 {
			spins++
		}
	}
	runtime.KeepAlive(spins) // or the compiler would remove the loop
}

// threadCPU is the CPU time of the calling thread in ns.
func threadCPU() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err) // the clock exists on every Linux
	}
	return t.Nano()
}
