package cluster

import "syscall"

// groupOfItsOwn has the kernel end a process when the test is killed, which no
// handler sees.
func groupOfItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
