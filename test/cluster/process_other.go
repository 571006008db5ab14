//go:build !linux

package cluster

import "syscall"

func groupOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// paused cannot be known here.
func (p *process) paused() bool { return true }
