package burn

import (
	"runtime"
	"testing"
	"time"
)

func TestBurnUsesTheCPUTimeAsked(t *testing.T) {
	runtime.LockOSThread() // the clock is the thread's
	defer runtime.UnlockOSThread()
	before, called := threadCPU(), false
	CPU(3*time.Millisecond, func() { called = true })
	if used := time.Duration(threadCPU() - before); used < 3*time.Millisecond || !called {
		t.Errorf("burnt %v of CPU, want 3 ms; first was called: %v", used, called)
	}
}
