package node

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroupsTwo reports whether this machine has version 2, in one hierarchy.
func cgroupsTwo() (bool, error) {
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		return true, nil
	}
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cpu")); err != nil {
		return false, fmt.Errorf("no cgroups in %s: %w", cgroupRoot, err)
	}
	return false, nil
}

// keepPods keeps all pods to the core that is named for them, once the kubelet has made its folders:
// it wants to give them all cores at first.
func keepPods() error {
	core := os.Getenv(coresVariable)
	if core == "" {
		return nil
	}
	two, err := cgroupsTwo()
	if err != nil {
		return err
	}
	// Whatever else runs on that core waits.
	root := filepath.Join(cgroupRoot, os.Getenv(nameVariable), "kubepods")
	if two {
		return errors.Join(os.WriteFile(filepath.Join(root, "cpuset.cpus"), []byte(core), 0o644),
			os.WriteFile(filepath.Join(filepath.Dir(root), "cpu.weight"), []byte("10000"), 0o644))
	}
	err = os.WriteFile(filepath.Join(cgroupRoot, "cpu", os.Getenv(nameVariable), "cpu.shares"), []byte("262144"), 0o644)
	root = filepath.Join(cgroupRoot, "cpuset", os.Getenv(nameVariable), "kubepods")
	faults := []error{err}
	for _, folder := range []string{"burstable", "besteffort", ""} { // a child may not have more than its parent
		err := os.WriteFile(filepath.Join(root, folder, "cpuset.cpus"), []byte(core), 0o644)
		if !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// Counters of a container, as its cgroups have them.
type Counters struct {
	CPUSeconds         float64
	Periods, Throttled float64 // periods of the quota, and those in which it was used up
	QuotaCores         float64 // 0 = none
	Weight             float64 // cpu.shares in version 1, cpu.weight in version 2
}

// Cgroup reads the cgroups of a container, by its ID without the scheme.
func Cgroup(id string) (Counters, error) {
	two, err := cgroupsTwo()
	if err != nil {
		return Counters{}, err
	}
	name := os.Getenv(nameVariable)
	if two {
		dir, err := containerFolder(filepath.Join(cgroupRoot, name), id)
		if err != nil {
			return Counters{}, err
		}
		return countersTwo(dir)
	}
	cpu, err := containerFolder(filepath.Join(cgroupRoot, "cpu", name), id)
	if err != nil {
		return Counters{}, err
	}
	acct, err := containerFolder(filepath.Join(cgroupRoot, "cpuacct", name), id)
	if err != nil {
		return Counters{}, err
	}
	return countersOne(cpu, acct)
}

func countersOne(cpu, acct string) (Counters, error) {
	stat, err := pairs(filepath.Join(cpu, "cpu.stat"))
	usage, err2 := number(filepath.Join(acct, "cpuacct.usage"))
	quota, err3 := number(filepath.Join(cpu, "cpu.cfs_quota_us"))
	period, err4 := number(filepath.Join(cpu, "cpu.cfs_period_us"))
	shares, err5 := number(filepath.Join(cpu, "cpu.shares"))
	c := Counters{CPUSeconds: usage / 1e9, Periods: stat["nr_periods"], Throttled: stat["nr_throttled"], Weight: shares}
	if quota > 0 {
		c.QuotaCores = quota / period
	}
	return c, errors.Join(err, err2, err3, err4, err5)
}

func countersTwo(dir string) (Counters, error) {
	stat, err := pairs(filepath.Join(dir, "cpu.stat"))
	weight, err2 := number(filepath.Join(dir, "cpu.weight"))
	text, err3 := os.ReadFile(filepath.Join(dir, "cpu.max"))
	c := Counters{CPUSeconds: stat["usage_usec"] / 1e6, Periods: stat["nr_periods"], Throttled: stat["nr_throttled"], Weight: weight}
	if limit, period, _ := strings.Cut(strings.TrimSpace(string(text)), " "); limit != "max" && err3 == nil {
		quota, err4 := strconv.ParseFloat(limit, 64)
		each, err5 := strconv.ParseFloat(period, 64)
		c.QuotaCores, err3 = quota/each, errors.Join(err4, err5)
	}
	return c, errors.Join(err, err2, err3)
}

// containerFolder finds a container below a folder.
func containerFolder(below, id string) (string, error) {
	found := ""
	err := filepath.WalkDir(below, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it ended meanwhile
		case err != nil:
			return err
		case d.IsDir() && d.Name() == id:
			found = path
			return fs.SkipAll
		}
		return nil
	})
	if err == nil && found == "" {
		err = fmt.Errorf("no cgroup of container %q below %s", id, below)
	}
	return found, err
}

func number(path string) (float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
}

func pairs(path string) (map[string]float64, error) {
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
