package controller

import (
	"runtime"
	"syscall"
)

// stepBack has this goroutine run behind all others of the machine, for as long as
// it lives: learning may take every core, but no time from deciding. Where that is
// not allowed it goes on as it is.
func stepBack() {
	runtime.LockOSThread() // and never let go: the thread ends with the goroutine
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), 19)
}
