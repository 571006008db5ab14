package cluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// groupOfItsOwn makes the kernel end a process when the test is killed, which no handler can
// catch.
func groupOfItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// paused reports whether every thread of a process has stopped: a signal takes effect when the
// thread is next scheduled, which takes a while on a busy machine.
func (p *process) paused() bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		// PID (NAME) STATE ...; the name may have any character.
		if state := text[bytes.LastIndexByte(text, ')')+1:]; len(state) > 1 && state[1] != 'T' {
			return false
		}
	}
	return true
}
