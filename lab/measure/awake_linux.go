package measure

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// schedIdle is the policy of threads that run only when no other wants the core.
const schedIdle = 5

// StayAwake is a process that keeps every core busy at the lowest priority until in is closed.
// Without it an idle core of a virtual machine halts, and the hypervisor may take milliseconds
// to run it again: that would be measured as latency of the servers.
func StayAwake(in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(runtime.NumCPU() + 1) // one for the rest of the program
	var done atomic.Bool
	ready := make(chan error)
	for cpu := range runtime.NumCPU() {
		go func() {
			runtime.LockOSThread()
			var only unix.CPUSet
			only.Set(cpu)
			err := unix.SchedSetaffinity(0, &only)
			if err == nil {
				err = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: schedIdle}, 0)
			}
			ready <- err
			for !done.Load() {
			}
		}()
	}
	for range runtime.NumCPU() {
		if err := <-ready; err != nil {
			return fmt.Errorf("make a thread of the idle class: %w", err)
		}
	}
	if _, err := fmt.Fprintln(out, "awake"); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, in)
	done.Store(true)
	return err
}

// processCPU is the CPU time of a process in seconds.
func processCPU(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may have spaces. User and system time are fields 14 and 15.
	fields := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("read /proc/%d/stat: %d fields after the name", pid, len(fields))
	}
	sum := 0.0
	for _, field := range fields[11:13] {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, fmt.Errorf("read /proc/%d/stat: %w", pid, err)
		}
		sum += v * tick
	}
	return sum, nil
}
