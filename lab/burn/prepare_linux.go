package burn

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
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

// Prepare lets a process spend its CPU time on what it is asked for. Garbage is hardly collected.
// The timers of the runtime's monitor thread may be late: by default it wakes up to 50,000 times a
// second after each request that ends a pause, which costs up to a millisecond of CPU per request.
// Threads may inherit that: Sleep is exact on all.
func Prepare() error {
	runtime.GOMAXPROCS(threads)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		slack := strconv.FormatInt(monitorSlack.Nanoseconds(), 10)
		if err := os.WriteFile(filepath.Join("/proc", task.Name(), "timerslack_ns"), []byte(slack), 0o644); err != nil {
			return err
		}
	}
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
