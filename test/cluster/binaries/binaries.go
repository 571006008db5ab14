// Package binaries builds the programs of test/cluster, once, into a cache folder. It needs
// nothing but Go, so that the command can report progress before the rest of the module is
// compiled.
package binaries

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
)

// EnvCache names the folder of the binaries; by default the user's cache folder.
const EnvCache = "LOADLINE_CACHE"

// EnvDir names a folder that has the binaries already: nothing is built then.
const EnvDir = "LOADLINE_CLUSTER_BIN"

// programs in the order in which they are built: those that share most with others come first.
var programs = []string{
	"k8s.io/kubernetes/cmd/kube-apiserver",
	"k8s.io/kubernetes/cmd/kube-controller-manager",
	"k8s.io/kubernetes/cmd/kube-scheduler",
	"sigs.k8s.io/kwok/cmd/kwok",
	"sigs.k8s.io/metrics-server/cmd/metrics-server",
	"github.com/kedacore/keda/v2/cmd/operator",
	"github.com/kedacore/keda/v2/cmd/adapter",
}

// nodePrograms are those of a real node, which few tests need.
var nodePrograms = []string{"k8s.io/kubernetes/cmd/kubelet", "k8s.io/kubernetes/cmd/kube-proxy"}

const kubernetesModule = "k8s.io/kubernetes"

// Dir returns the folder with all programs and builds missing ones, which takes a quarter of an
// hour the first time and seconds with a warm Go cache. Progress is written to progress. Two
// processes that need the same binaries do not build them at once.
func Dir(ctx context.Context, progress io.Writer) (string, error) {
	return dirWith(ctx, programs, progress)
}

// Node returns the folder with the kubelet, which is Dir's, and builds it if it is missing.
func Node(ctx context.Context, progress io.Writer) (string, error) {
	return dirWith(ctx, nodePrograms, progress)
}

func dirWith(ctx context.Context, programs []string, progress io.Writer) (string, error) {
	if dir := os.Getenv(EnvDir); dir != "" {
		if missing := lacking(dir, programs); len(missing) > 0 {
			return "", fmt.Errorf("%s=%s has no %s: unset it to have them built", EnvDir, dir, strings.Join(missing, ", "))
		}
		return dir, nil
	}
	module, err := moduleDir()
	if err != nil {
		return "", err
	}
	b, err := newBuild(module)
	if err != nil {
		return "", err
	}
	if len(lacking(b.dir, programs)) == 0 {
		return b.dir, nil
	}
	unlock, err := lockDir(b.dir, progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	for i, program := range programs {
		if !slices.Contains(lacking(b.dir, programs), path.Base(program)) {
			continue
		}
		if err := b.build(ctx, program, fmt.Sprintf("(%d of %d) %s", i+1, len(programs), path.Base(program)), progress); err != nil {
			return "", err
		}
	}
	return b.dir, nil
}

// lockDir makes a folder, and keeps other processes from building in it until it is unlocked.
func lockDir(dir string, progress io.Writer) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return lock(filepath.Join(dir, ".lock"), func() {
		fmt.Fprintln(progress, "waiting for another process that builds the same binaries")
	})
}

// lacking are the missing programs of a folder.
func lacking(dir string, programs []string) []string {
	var missing []string
	for _, program := range programs {
		if !isProgram(filepath.Join(dir, path.Base(program))) {
			missing = append(missing, path.Base(program))
		}
	}
	return missing
}

func isProgram(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode()&0o111 != 0
}

// build is how and where the programs of one set of versions are built.
type build struct {
	module, dir, flags string
}

func newBuild(module string) (build, error) {
	file, err := readModfile(filepath.Join(module, "go.mod"))
	if err != nil {
		return build{}, err
	}
	version, versions := "", ""
	for _, r := range file.Require {
		versions += r.Mod.String() + "\n"
		if r.Mod.Path == kubernetesModule {
			version = r.Mod.Version
		}
	}
	for _, r := range file.Replace {
		versions += r.Old.String() + " " + r.New.String() + "\n"
	}
	if version == "" {
		return build{}, fmt.Errorf("%s/go.mod does not require %s", module, kubernetesModule)
	}
	b := build{module: module, flags: linkFlags(version)}
	b.dir, err = cacheDir("kubernetes-"+version, b.flags+versions)
	return b, err
}

func readModfile(path string) (*modfile.File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(path, text, nil)
}

// cacheDir is the folder of binaries that depend on Go's version and on what key names.
func cacheDir(name, key string) (string, error) {
	cache := os.Getenv(EnvCache)
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("%w: set %s to a folder for binaries", err, EnvCache)
		}
		cache = filepath.Join(user, "loadline")
	}
	sum := sha256.Sum256([]byte(runtime.Version() + key))
	return filepath.Join(cache, "cluster-bin", fmt.Sprintf("%s-%x", name, sum[:6])), nil
}

// linkFlags set the version of the programs; otherwise clients and feature gates take them for
// v0.0.0.
func linkFlags(version string) string {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	flags := "-s -w"
	for _, p := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s -X %[1]s.gitCommit=module "+
			"-X %[1]s.gitTreeState=clean", p, version, parts[0], parts[1])
	}
	return flags
}

// build builds one program atomically.
func (b build) build(ctx context.Context, program, label string, progress io.Writer) error {
	name := path.Base(program)
	part := filepath.Join(b.dir, "."+name+".part")
	defer os.Remove(part)
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-ldflags", b.flags, "-o", part, program)
	cmd.Dir = b.module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if err := run(cmd, label, progress); err != nil {
		return fmt.Errorf("build %s: %w", program, err)
	}
	return os.Rename(part, filepath.Join(b.dir, name))
}

// run runs a build and reports its progress.
func run(cmd *exec.Cmd, label string, progress io.Writer) error {
	began := time.Now()
	fmt.Fprintf(progress, "%s: building\n", label)
	tick := time.NewTicker(30 * time.Second)
	defer tick.Stop()
	done := make(chan error, 1)
	var output []byte
	go func() {
		var err error
		output, err = cmd.CombinedOutput()
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				return fmt.Errorf("%w\n%s", err, output)
			}
			fmt.Fprintf(progress, "%s: built in %.0f s\n", label, time.Since(began).Seconds())
			return nil
		case <-tick.C:
			fmt.Fprintf(progress, "%s: building for %.0f s\n", label, time.Since(began).Seconds())
		}
	}
}

// moduleDir is the folder of this module, found upwards from where a test runs.
func moduleDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil &&
			modfile.ModulePath(text) == "github.com/loadline/loadline/test/cluster" {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("not in test/cluster: its go.mod says what to build")
		}
		dir = up
	}
}

// Repository is the path of a file of the repository, given from its root.
func Repository(file string) (string, error) {
	dir, err := moduleDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "..", "..", file), nil
}

// ModuleFile is the path of a file in one of the modules that go.mod requires.
func ModuleFile(module, file string) (string, error) {
	dir, err := moduleDir()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", module)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", module, err)
	}
	found := strings.TrimSpace(string(out))
	if found == "" {
		return "", fmt.Errorf("module %s is not downloaded: go mod download %s", module, module)
	}
	return filepath.Join(found, file), nil
}
