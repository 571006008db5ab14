package node

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadline/loadline/test/cluster"
)

// The test binary runs itself in these roles.
const (
	roleVariable = "LOADLINE_NODE_ROLE"
	dirVariable  = "LOADLINE_NODE_DIR" // everything that is written
	nameVariable = "LOADLINE_NODE_NAME"

	// coresVariable names the cores of all pods, as in cpuset.cpus; everything else runs on the others.
	// "" = no process is kept to any.
	coresVariable = "LOADLINE_NODE_CORES"

	keeperRole    = "keeper"
	initRole      = "init"
	testRole      = "test"
	generatorRole = "generator"
	awakeRole     = "awake"
)

const cgroupRoot = "/sys/fs/cgroup"

// missing is why no real node can run here; "" = it can.
var missing string

// Main runs the tests of a package in namespaces of their own.
func Main(m *testing.M) int {
	switch os.Getenv(roleVariable) {
	case keeperRole:
		return keep()
	case initRole:
		return beInit()
	case testRole:
		return cluster.Main(m)
	case generatorRole:
		return beGenerator()
	case awakeRole:
		return beAwake()
	}
	if missing = lacks(); missing != "" {
		return m.Run()
	}
	code, err := runInside()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// lacks names what a real node needs and this machine does not have.
func lacks() string {
	if os.Geteuid() != 0 {
		return "a real node needs root: it makes namespaces and cgroups"
	}
	for _, program := range []string{"containerd", "ctr", "runc", "ip", "iptables", "chrt", "etcd", "prometheus"} {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not installed: apt-get install --no-install-recommends " +
				"containerd runc containernetworking-plugins iproute2 iptables etcd-server prometheus"
		}
	}
	for _, plugin := range []string{"bridge", "host-local", "loopback"} {
		if _, err := os.Stat(filepath.Join(plugins, plugin)); err != nil {
			return "the CNI plugin " + plugin + " is not in " + plugins + ": apt-get install containernetworking-plugins"
		}
	}
	if _, err := imageFiles(); err != nil {
		return err.Error()
	}
	two, err := cgroupsTwo()
	if err != nil {
		return err.Error()
	}
	probe := filepath.Join(cgroupRoot, fmt.Sprintf("loadline-probe-%d", os.Getpid()))
	if !two {
		probe = filepath.Join(cgroupRoot, "cpu", filepath.Base(probe))
	}
	if err := os.Mkdir(probe, 0o755); err != nil {
		return fmt.Sprintf("no cgroup can be made: %v", err)
	}
	_ = os.Remove(probe)
	return ""
}

// runInside runs this test binary again, as the first process of new namespaces. A keeper outlives
// both and removes what the kernel does not.
func runInside() (int, error) {
	runtime.LockOSThread() // the kernel ends a child with the thread that started it
	dir, err := os.MkdirTemp("", "loadline-node-")
	if err != nil {
		return 1, err
	}
	env := slices.Clip(append(os.Environ(), dirVariable+"="+dir, nameVariable+"="+fmt.Sprintf("loadline-node-%d", os.Getpid()), "TMPDIR="+dir))
	keeper := exec.Command(os.Args[0])
	keeper.Env = append(env, roleVariable+"="+keeperRole)
	keeper.Stderr = os.Stderr
	keeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	life, err := keeper.StdinPipe() // closed when this process ends, however it ends
	if err != nil {
		return 1, err
	}
	if err := keeper.Start(); err != nil {
		return 1, err
	}
	inside := exec.Command(os.Args[0], os.Args[1:]...)
	inside.Env = append(env, roleVariable+"="+initRole)
	inside.Stdout, inside.Stderr = os.Stdout, os.Stderr
	inside.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID, Setpgid: true, Pdeathsig: syscall.SIGKILL,
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if err = inside.Start(); err == nil {
		go func() {
			<-signals
			_ = inside.Process.Kill() // the kernel ends everything in its namespaces
		}()
		err = inside.Wait()
	}
	if inside.ProcessState.ExitCode() != 0 {
		_, _ = io.WriteString(life, keepFiles)
	}
	life.Close()
	err = errors.Join(exceptExit(err), keeper.Wait())
	return inside.ProcessState.ExitCode(), err
}

// exceptExit drops the error of a process that ran and failed: its code says that.
func exceptExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// keepFiles tells the keeper that the tests failed.
const keepFiles = "keep"

// keep waits for the end of the tests, and removes their cgroups and, unless they failed, files.
func keep() int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	message, _ := io.ReadAll(os.Stdin)
	name := os.Getenv(nameVariable)
	var left []string
	for range 600 { // processes take a moment to end
		left = removeCgroups(name)
		if len(left) == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if len(left) > 0 {
		fmt.Fprintf(os.Stderr, "cgroups that could not be removed: %s\n", strings.Join(left, ", "))
		return 1
	}
	if string(message) == keepFiles {
		fmt.Fprintf(os.Stderr, "the node's files are kept in %s\n", os.Getenv(dirVariable))
		return 0
	}
	if err := os.RemoveAll(os.Getenv(dirVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// cgroupFolders are those of a name, in every hierarchy.
func cgroupFolders(name string) []string {
	folders, _ := filepath.Glob(filepath.Join(cgroupRoot, "*", name))
	if _, err := os.Stat(filepath.Join(cgroupRoot, name)); err == nil {
		folders = append(folders, filepath.Join(cgroupRoot, name))
	}
	return folders
}

func removeCgroups(name string) []string {
	for _, folder := range cgroupFolders(name) {
		var all []string
		_ = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, path)
			}
			return nil
		})
		for i := len(all) - 1; i >= 0; i-- {
			_ = syscall.Rmdir(all[i])
		}
	}
	return cgroupFolders(name)
}

// beInit prepares the namespaces, runs the tests and collects the processes that they leave.
func beInit() int {
	if err := prepare(os.Getenv(dirVariable), os.Getenv(nameVariable)); err != nil {
		fmt.Fprintln(os.Stderr, "prepare the node's namespaces:", err)
		return 1
	}
	if err := os.Setenv(roleVariable, testRole); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := keepOff(os.Getenv(coresVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// Not os/exec: it waits for its own children, and Wait4 takes them all.
	test, err := syscall.ForkExec(os.Args[0], os.Args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return 1
		}
		if pid == test {
			if status.Exited() {
				return status.ExitStatus()
			}
			return 1
		}
	}
}

// sysctls are global and the kubelet writes them: it writes to files of ours instead.
var sysctls = []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
	"kernel/keys/root_maxbytes"}

func prepare(dir, name string) error {
	for _, folder := range []string{"var", "var-work", "sysctl"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return err
		}
	}
	const private, shared = syscall.MS_REC | syscall.MS_PRIVATE, syscall.MS_REC | syscall.MS_SHARED
	overlay := fmt.Sprintf("lowerdir=/var,upperdir=%s/var,workdir=%s/var-work", dir, dir)
	err := errors.Join(
		syscall.Mount("", "/", "", private, ""), // nothing is seen outside
		syscall.Mount("", "/", "", shared, ""),  // the kubelet's mounts are seen by containerd
		syscall.Mount("proc", "/proc", "proc", 0, ""),
		syscall.Mount("tmpfs", "/run", "tmpfs", 0, ""),
		syscall.Mount("overlay", "/var", "overlay", 0, overlay),
	)
	if err != nil {
		return err
	}
	for _, key := range sysctls {
		from, copied := filepath.Join("/proc/sys", key), filepath.Join(dir, "sysctl", strings.ReplaceAll(key, "/", "_"))
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := errors.Join(os.WriteFile(copied, text, 0o644), syscall.Mount(copied, from, "", syscall.MS_BIND, "")); err != nil {
			return err
		}
	}
	for _, command := range []string{
		"link set lo up", "link add node0 type bridge", "addr add " + nodeAddress + "/24 dev node0", "link set node0 up",
		"route add default via 10.210.0.254 dev node0", // leads nowhere; the kubelet wants one
	} {
		if out, err := exec.Command("ip", strings.Fields(command)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", command, err, out)
		}
	}
	return errors.Join(seeBridged(), makeCgroups(name))
}

// makeCgroups makes the folder below which all pods are, in every hierarchy.
func makeCgroups(name string) error {
	two, err := cgroupsTwo()
	if err != nil {
		return err
	}
	if two {
		err := os.WriteFile(filepath.Join(cgroupRoot, "cgroup.subtree_control"), []byte("+cpu +cpuset +memory +pids"), 0o644)
		return errors.Join(err, os.Mkdir(filepath.Join(cgroupRoot, name), 0o755))
	}
	hierarchies, err := os.ReadDir(cgroupRoot)
	if err != nil {
		return err
	}
	for _, h := range hierarchies {
		if h.IsDir() {
			if err := os.Mkdir(filepath.Join(cgroupRoot, h.Name(), name), 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepOff keeps this thread, and what it starts, off a core.
func keepOff(core string) error {
	if core == "" {
		return nil
	}
	pods, err := strconv.Atoi(core)
	if err != nil || pods < 0 || pods >= runtime.NumCPU() || runtime.NumCPU() < 2 {
		return fmt.Errorf("%s=%q must be the number of one of at least two cores; this machine has %d", coresVariable, core, runtime.NumCPU())
	}
	runtime.LockOSThread()
	var set unix.CPUSet
	for cpu := range runtime.NumCPU() {
		if cpu != pods {
			set.Set(cpu)
		}
	}
	return unix.SchedSetaffinity(0, &set)
}
