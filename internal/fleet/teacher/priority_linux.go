package teacher

import (
	"runtime"
	"syscall"
)

// lowerPriority gives the thread of this goroutine the lowest priority for the rest of the
// goroutine's life, so that learning takes no time from deciding. Where that is not permitted,
// the priority is unchanged.
func lowerPriority() {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), 19)
}
