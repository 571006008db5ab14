package burn

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// threads that a process may have on a CPU at once. The kernel divides the CPU among them; with
// fewer the Go scheduler would.
const threads = 64

// memoryLimit of Go's heap, at which garbage is collected after all.
const memoryLimit = 1 << 30

// slack of the timers of the Go runtime's monitor thread, and the kernel's default.
const (
	monitorSlack = 5 * time.Millisecond
	usualSlack   = 50 * time.Microsecond
)

// prepared is set in the environment of a process whose threads have the monitor's slack.
const prepared = "LOADLINE_BURN_PREPARED"

// Prepare lets a process spend its CPU time on what it is asked for; call it first. Garbage is hardly
// collected. The timers of the runtime's monitor thread may be late: by default it wakes up to 50,000
// times a second after each request that ends a pause, which costs up to a millisecond of CPU per
// request. Threads inherit that from the one that starts them, and only a privileged process may
// change it for others: so the program is executed again, once. Sleep is exact on all threads.
func Prepare() error {
	if os.Getenv(prepared) == "" {
		runtime.LockOSThread()
		if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(monitorSlack.Nanoseconds()), 0, 0, 0); err != nil {
			return fmt.Errorf("set the slack of timers: %w", err)
		}
		return fmt.Errorf("execute the program again: %w", unix.Exec("/proc/self/exe", os.Args, append(os.Environ(), prepared+"=yes")))
	}
	runtime.GOMAXPROCS(threads)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
	return nil
}

// Sleep sleeps more exactly than time.Sleep, which rounds to milliseconds, on a thread of its own.
func Sleep(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(usualSlack.Nanoseconds()), 0, 0, 0) // it cannot fail
	for due := time.Now().Add(d); ; {
		left := time.Until(due)
		if left <= 0 {
			return
		}
		t := unix.NsecToTimespec(left.Nanoseconds())
		if err := unix.Nanosleep(&t, nil); err != unix.EINTR {
			return
		}
	}
}
