package cluster

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a server that a test has started. It has a process group of its own,
// so that an interrupt at the terminal reaches only the test, which then stops it.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// running are all processes of this test binary, in the order of their start.
var running struct {
	sync.Mutex
	list []*process
	undo []func() // AtInterrupt
	once sync.Once
}

// AtInterrupt runs a function if the test is interrupted, after all processes have ended: cleanups do
// not run then.
func AtInterrupt(undo func()) {
	running.Lock()
	defer running.Unlock()
	running.undo = append(running.undo, undo)
}

// spawn starts a program whose output goes to a log file in dir.
func spawn(dir, name string, env []string, program string, args ...string) (*process, error) {
	running.once.Do(stopOnSignal)
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.Command(program, args...)
	p.cmd.Dir = dir
	p.cmd.Env = append([]string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}, env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = groupOfItsOwn()
	if err := onLauncher(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	running.Lock()
	running.list = append(running.list, p)
	running.Unlock()
	go func() {
		_ = p.cmd.Wait() // how it ended is in its log
		running.Lock()
		running.list = slices.DeleteFunc(running.list, func(q *process) bool { return q == p })
		running.Unlock()
		close(p.done)
	}()
	return p, nil
}

// launcher is the thread that starts all processes. The kernel ends a process with the thread
// that started it (see groupOfItsOwn), so that thread must stay.
var launcher = sync.OnceValue(func() chan func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

func onLauncher(start func() error) error {
	result := make(chan error, 1)
	launcher() <- func() { result <- start() }
	return <-result
}

// ended reports whether a process has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop asks a process to end, and ends it if it does not.
func (p *process) stop() {
	if p == nil || p.ended() {
		return
	}
	p.signal(syscall.SIGCONT) // one that was paused could not end
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		p.kill()
	}
}

// kill kills a process.
func (p *process) kill() {
	if p == nil || p.ended() {
		return
	}
	p.signal(syscall.SIGKILL)
	<-p.done
}

// pause suspends a process; when it returns, all of its threads have stopped.
func (p *process) pause() {
	p.signal(syscall.SIGSTOP)
	for !p.ended() && !p.paused() {
		time.Sleep(time.Millisecond)
	}
}

// signal goes to the whole group.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// tail is the end of a process' output, with long lines cut.
func (p *process) tail(lines int) string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimRight(text, "\n"), []byte("\n"))
	all = all[max(0, len(all)-lines):]
	for i, line := range all {
		all[i] = line[:min(len(line), 240)]
	}
	return string(bytes.Join(all, []byte("\n")))
}

// stopOnSignal stops everything when the test is interrupted: cleanups do not run then.
func stopOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		s := <-signals
		running.Lock()
		list, undo := slices.Clone(running.list), running.undo
		running.Unlock()
		var names []string
		for _, p := range slices.Backward(list) { // what was started last depends on the rest
			names = append(names, p.name)
			p.stop()
		}
		for _, f := range undo {
			f()
		}
		fmt.Fprintf(os.Stderr, "%v: stopped %s\n", s, strings.Join(names, ", "))
		os.Exit(1)
	}()
}
