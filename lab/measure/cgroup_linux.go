package measure

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cgroups is where this machine has its CPU controllers: one hierarchy per controller in
// version 1, one for all in version 2.
type cgroups struct {
	two                  bool
	cpu, cpuset, cpuacct string // folders of ours; the same one in version 2
}

const cgroupRoot = "/sys/fs/cgroup"

// quotaPeriod is the kubelet's.
const quotaPeriod = 100 * time.Millisecond

// newCgroups makes a folder for the runs in every hierarchy, with the largest weight: what else
// runs on the machine should not matter.
func newCgroups() (*cgroups, error) {
	name := fmt.Sprintf("loadline-measure-%d", os.Getpid())
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		folder := filepath.Join(cgroupRoot, name)
		c := &cgroups{two: true, cpu: folder, cpuset: folder, cpuacct: folder}
		enable := write(cgroupRoot, "cgroup.subtree_control", "+cpu +cpuset")
		return c, errors.Join(enable, os.Mkdir(folder, 0o755), write(folder, "cgroup.subtree_control", "+cpu +cpuset"),
			write(folder, "cpu.weight", "10000"))
	}
	at := func(controller string) string { return filepath.Join(cgroupRoot, controller, name) }
	c := &cgroups{cpu: at("cpu"), cpuset: at("cpuset"), cpuacct: at("cpuacct")}
	for _, folder := range c.folders() {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, fmt.Errorf("make a cgroup: %w (the command needs root and the controllers cpu, cpuset and cpuacct)", err)
		}
	}
	return c, errors.Join(c.useAll(c.cpuset), write(c.cpu, "cpu.shares", "262144"))
}

// folders without repetition: controllers may be mounted together.
func (c *cgroups) folders() []string {
	var out []string
	seen := map[string]bool{}
	for _, folder := range []string{c.cpu, c.cpuset, c.cpuacct} {
		real, err := filepath.EvalSymlinks(filepath.Dir(folder))
		if err != nil {
			real = filepath.Dir(folder)
		}
		if !seen[real] {
			seen[real] = true
			out = append(out, folder)
		}
	}
	return out
}

// useAll gives a cpuset the memory nodes and cores of its parent; without them it takes no
// process.
func (c *cgroups) useAll(folder string) error {
	for _, file := range []string{"cpuset.mems", "cpuset.cpus"} {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(folder), file))
		if err != nil {
			return err
		}
		if err := write(folder, file, strings.TrimSpace(string(text))); err != nil {
			return err
		}
	}
	return nil
}

// close removes the folders. Their processes must have ended or left.
func (c *cgroups) close() error {
	var faults []error
	for _, folder := range c.folders() {
		faults = append(faults, os.Remove(folder))
	}
	return errors.Join(faults...)
}

// cgroup is one process's.
type cgroup struct {
	*cgroups
	name string
}

// add makes a cgroup. A weight or a quota of 0 leaves the kernel's default.
func (c *cgroups) add(name, cpus string, weight int, quota float64) (*cgroup, error) {
	g := &cgroup{c, name}
	for _, folder := range c.folders() {
		if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil {
			return nil, err
		}
	}
	cpu, cpuset := filepath.Join(c.cpu, name), filepath.Join(c.cpuset, name)
	var faults []error
	if !c.two {
		faults = append(faults, c.useAll(cpuset))
	}
	faults = append(faults, write(cpuset, "cpuset.cpus", cpus))
	quotaUs := strconv.FormatInt(int64(quota*float64(quotaPeriod.Microseconds())), 10)
	periodUs := strconv.FormatInt(quotaPeriod.Microseconds(), 10)
	if c.two {
		if weight > 0 {
			faults = append(faults, write(cpu, "cpu.weight", strconv.Itoa(1+(weight-2)*9999/262142)))
		}
		if quota > 0 {
			faults = append(faults, write(cpu, "cpu.max", quotaUs+" "+periodUs))
		}
		return g, errors.Join(faults...)
	}
	if weight > 0 {
		faults = append(faults, write(cpu, "cpu.shares", strconv.Itoa(weight)))
	}
	if quota > 0 {
		faults = append(faults, write(cpu, "cpu.cfs_period_us", periodUs), write(cpu, "cpu.cfs_quota_us", quotaUs))
	}
	return g, errors.Join(faults...)
}

// enter moves a process, with all its threads.
func (g *cgroup) enter(pid int) error {
	var faults []error
	for _, folder := range g.folders() {
		faults = append(faults, write(filepath.Join(folder, g.name), "cgroup.procs", strconv.Itoa(pid)))
	}
	return errors.Join(faults...)
}

func (g *cgroup) remove() error {
	var faults []error
	for _, folder := range g.folders() {
		faults = append(faults, os.Remove(filepath.Join(folder, g.name)))
	}
	return errors.Join(faults...)
}

// leave moves a process back to the root.
func (g *cgroup) leave(pid int) error {
	var faults []error
	for _, folder := range g.folders() {
		faults = append(faults, write(filepath.Dir(folder), "cgroup.procs", strconv.Itoa(pid)))
	}
	return errors.Join(faults...)
}

func (g *cgroup) charged() (charged, error) {
	stat, err := readPairs(filepath.Join(g.cpu, g.name, "cpu.stat"))
	if err != nil {
		return charged{}, err
	}
	out := charged{Periods: stat["nr_periods"], Throttled: stat["nr_throttled"]}
	if g.two {
		out.CPUSeconds, out.ThrottledMs = stat["usage_usec"]/1e6, stat["throttled_usec"]/1e3
		return out, nil
	}
	out.ThrottledMs = stat["throttled_time"] / 1e6
	text, err := os.ReadFile(filepath.Join(g.cpuacct, g.name, "cpuacct.usage"))
	if err != nil {
		return out, err
	}
	ns, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	out.CPUSeconds = ns / 1e9
	return out, err
}

// readPairs reads lines of a name and a number.
func readPairs(path string) (map[string]float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]float64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if out[name], err = strconv.ParseFloat(value, 64); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return out, nil
}

// machine is the machine's CPU time since its start in seconds: in use, over all cores, and
// taken by the hypervisor, by core.
type machine struct {
	busy  float64
	steal []float64
}

// tick is the unit of /proc/stat on Linux: 1/100 s whatever the kernel's timer.
const tick = 0.01

func readMachine() (machine, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return machine{}, err
	}
	var m machine
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu") {
			break
		}
		if fields[0] == "cpu" { // the sum
			continue
		}
		for i, field := range fields[1:9] { // user nice system idle iowait irq softirq steal
			v, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return machine{}, fmt.Errorf("read /proc/stat: %w", err)
			}
			switch i {
			case 3, 4:
			case 7:
				m.steal = append(m.steal, v*tick)
			default:
				m.busy += v * tick
			}
		}
	}
	if len(m.steal) == 0 {
		return m, fmt.Errorf("read /proc/stat: no lines of cores")
	}
	return m, nil
}

func write(folder, file, text string) error {
	return os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644)
}
