package measure

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Options of a measurement.
type Options struct {
	// Server and Awake are the command lines of processes that call Serve and StayAwake.
	Server, Awake []string
	Seed          uint64
	Stderr        io.Writer
}

// loadWeight is the generator's. Where it shares a core with a server it must not be late.
const loadWeight = 16384

// Contention measures one run. The calling process is the load generator: it moves to a
// cgroup on a core of its own meanwhile.
func Contention(ctx context.Context, run Run, o Options) (results []Result, err error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("the measurement makes cgroups and needs root: run it with sudo")
	}
	if runtime.NumCPU() < 2 {
		return nil, fmt.Errorf("the load generator needs a core besides that of the servers; this machine has %d", runtime.NumCPU())
	}
	groups, err := newCgroups()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, groups.close()) }()
	x := experiment{run: run}
	defer func() { err = errors.Join(err, x.stop()) }()
	// It must have all cores, so it starts before this process confines itself to one.
	if x.awake, err = startProcess(ctx, nil, nil, o.Awake, o.Stderr); err != nil {
		return nil, fmt.Errorf("run %s: keep the cores awake: %w", run.Name, err)
	}
	load, err := groups.add("load", loadCPU, loadWeight, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, load.remove()) }()
	if err := load.enter(os.Getpid()); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, load.leave(os.Getpid())) }()
	x.load = load
	for _, s := range run.Servers {
		if err := x.start(ctx, groups, s, o); err != nil {
			return nil, fmt.Errorf("run %s: start server %s: %w", run.Name, s.Name, err)
		}
	}
	return x.measure(ctx, o.Seed)
}

// experiment is a run under way.
type experiment struct {
	run     Run
	load    *cgroup
	awake   *process
	servers []*process
}

// process is a child of ours, in a cgroup of its own if it is a server.
type process struct {
	group   *cgroup
	command *exec.Cmd
	input   io.Closer
	said    string // its first line
}

func (x *experiment) start(ctx context.Context, groups *cgroups, s Server, o Options) error {
	group, err := groups.add(s.Name, s.CPUs, s.Weight, s.Quota)
	if err != nil {
		return err
	}
	p, err := startProcess(ctx, group, serverSettings{Workers: s.Workers}, o.Server, o.Stderr)
	x.servers = append(x.servers, p)
	return err
}

// startProcess starts a child, moves it to its cgroup, sends it its settings and waits for its
// first line.
func startProcess(ctx context.Context, group *cgroup, settings any, line []string, stderr io.Writer) (*process, error) {
	p := &process{group: group}
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Stderr = stderr
	in, errIn := command.StdinPipe()
	out, errOut := command.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		return p, err
	}
	if err := command.Start(); err != nil {
		return p, err
	}
	p.command, p.input = command, in
	if group != nil {
		if err := group.enter(command.Process.Pid); err != nil {
			return p, err
		}
		if err := json.NewEncoder(in).Encode(settings); err != nil {
			return p, err
		}
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	p.said = strings.TrimSpace(said)
	return p, err
}

func (p *process) stop() error {
	var faults []error
	if p.command != nil {
		faults = append(faults, p.input.Close(), p.command.Wait())
	}
	if p.group != nil {
		faults = append(faults, p.group.remove())
	}
	return errors.Join(faults...)
}

// stop ends the children and removes their cgroups.
func (x *experiment) stop() error {
	var faults []error
	for _, p := range x.servers {
		faults = append(faults, p.stop())
	}
	if x.awake != nil {
		faults = append(faults, x.awake.stop())
	}
	return errors.Join(faults...)
}

// reading is what the kernel has counted so far.
type reading struct {
	servers []charged
	load    charged
	awake   float64 // seconds of CPU
	machine machine
}

func (x *experiment) read() (reading, error) {
	var r reading
	for _, p := range x.servers {
		c, err := p.group.charged()
		if err != nil {
			return r, err
		}
		r.servers = append(r.servers, c)
	}
	var err error
	if r.load, err = x.load.charged(); err != nil {
		return r, err
	}
	if r.awake, err = processCPU(x.awake.command.Process.Pid); err != nil {
		return r, err
	}
	r.machine, err = readMachine()
	return r, err
}

// measure sends the load and reads the kernel's counters at the end of the warm-up and of the
// run.
func (x *experiment) measure(ctx context.Context, seed uint64) ([]Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 16, DisableCompression: true}}
	defer client.CloseIdleConnections()
	loads := make([][]request, len(x.servers))
	for i, s := range x.run.Servers {
		loads[i] = s.requests(rand.New(rand.NewPCG(seed, uint64(i))))
	}
	answers := make([]answered, len(x.servers))
	start := time.Now().Add(100 * time.Millisecond)
	var group sync.WaitGroup
	for i, p := range x.servers {
		group.Go(func() {
			runtime.LockOSThread()
			answers[i] = send(ctx, client, p.said, loads[i], start, sleepUntil)
		})
	}
	before, after, err := x.watch(ctx, start)
	if err != nil {
		cancel() // the requests that are still to be sent
	}
	group.Wait()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return x.results(loads, answers, before, after), nil
}

// watch waits for the end of the load. It gives up as soon as the run is too noisy to count.
func (x *experiment) watch(ctx context.Context, start time.Time) (before, after reading, err error) {
	sleepUntil(start.Add(WarmUp))
	if before, err = x.read(); err != nil {
		return before, after, err
	}
	for at := WarmUp + time.Second; at <= Length; at += time.Second {
		sleepUntil(start.Add(at))
		if after, err = x.read(); err != nil {
			return before, after, err
		}
		if err := ctx.Err(); err != nil {
			return before, after, err
		}
		if others, steal := x.noise(before, after); max(others, steal) > MaxNoise {
			return before, after, fmt.Errorf("%w: others %.1f %%, steal %.1f %% after %v", ErrNoisy, 100*others, 100*steal, at)
		}
	}
	return before, after, nil
}

// noise is the CPU time between two readings that other processes used, as a share of all
// cores over a whole run, and that the hypervisor took, as a share of the servers' cores.
func (x *experiment) noise(before, after reading) (others, steal float64) {
	busy := after.machine.busy - before.machine.busy - (after.awake - before.awake) - after.load.minus(before.load).CPUSeconds
	for i := range after.servers {
		busy -= after.servers[i].minus(before.servers[i]).CPUSeconds
	}
	seconds := (Length - WarmUp).Seconds()
	cores := x.run.Servers[0].cores()
	for _, cpu := range cores {
		steal += (after.machine.steal[cpu] - before.machine.steal[cpu]) / seconds / float64(len(cores))
	}
	return max(busy, 0) / seconds / float64(len(after.machine.steal)), steal
}

func (x *experiment) results(loads [][]request, answers []answered, before, after reading) []Result {
	others, steal := x.noise(before, after)
	var out []Result
	for i, s := range x.run.Servers {
		a := &answers[i]
		out = append(out, Result{
			Run: x.run, Server: s, Sent: a.sent, Failed: a.failed, DemandMs: drawn(loads[i]), MeanMs: a.mean(),
			Quantiles: [4]float64{a.quantile(0.5), a.quantile(0.9), a.quantile(0.95), a.quantile(0.99)},
			Charged:   after.servers[i].minus(before.servers[i]), Others: others, Steal: steal,
		})
	}
	return out
}

// drawn is the mean demand in ms of the requests that count.
func drawn(requests []request) float64 {
	sum, n := 0.0, 0
	for _, r := range requests {
		if r.due >= WarmUp {
			sum += r.cpu.Seconds() * 1e3
			n++
		}
	}
	return sum / float64(n)
}
