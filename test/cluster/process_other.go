//go:build !linux

package cluster

import "syscall"

func groupOfItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// paused is unknown on this platform.
func (p *process) paused() bool { return true }
