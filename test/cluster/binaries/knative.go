package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Knative Serving. As Karpenter, it is not among the requirements of go.mod.
const (
	knativeModule  = "knative.dev/serving"
	knativeVersion = "v0.50.0"
)

var knativePrograms = []string{"controller", "autoscaler", "activator", "webhook", "queue"}

// KnativeFiles are the folders of the modules that have Knative's manifests.
type KnativeFiles struct{ Programs, Serving, Networking, Caching string }

// Knative returns the folder of the programs of Knative Serving, and those of its manifests. It
// builds what is missing, which takes some minutes, with the versions that the module itself
// requires.
func Knative(ctx context.Context, progress io.Writer) (f KnativeFiles, err error) {
	if f.Serving, err = downloaded(ctx, knativeModule+"@"+knativeVersion); err != nil {
		return f, err
	}
	for module, dir := range map[string]*string{"knative.dev/networking": &f.Networking, "knative.dev/caching": &f.Caching} {
		version, err := requiredBy(filepath.Join(f.Serving, "go.mod"), module)
		if err != nil {
			return f, err
		}
		if *dir, err = downloaded(ctx, module+"@"+version); err != nil {
			return f, err
		}
	}
	if f.Programs, err = cacheDir("knative-"+knativeVersion, ""); err != nil {
		return f, err
	}
	if given := os.Getenv(EnvDir); given != "" && len(lacking(filepath.Join(given, "knative"), knativePrograms)) == 0 {
		f.Programs = filepath.Join(given, "knative")
	}
	if len(lacking(f.Programs, knativePrograms)) == 0 {
		return f, nil
	}
	unlock, err := lockDir(f.Programs, progress)
	if err != nil {
		return f, err
	}
	defer unlock()
	missing := lacking(f.Programs, knativePrograms)
	if len(missing) == 0 {
		return f, nil
	}
	part := filepath.Join(f.Programs, ".part")
	defer os.RemoveAll(part)
	for i, name := range missing {
		cmd := exec.CommandContext(ctx, "go", "install", "-trimpath", "-ldflags", "-s -w", knativeModule+"/cmd/"+name+"@"+knativeVersion)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOBIN="+part)
		if err := run(cmd, fmt.Sprintf("(%d of %d) Knative's %s", i+1, len(missing), name), progress); err != nil {
			return f, fmt.Errorf("build Knative's %s: %w", name, err)
		}
		if err := os.Rename(filepath.Join(part, name), filepath.Join(f.Programs, name)); err != nil {
			return f, err
		}
	}
	return f, nil
}

// requiredBy is the version of a module that a go.mod requires.
func requiredBy(file, module string) (string, error) {
	m, err := readModfile(file)
	if err != nil {
		return "", err
	}
	for _, r := range m.Require {
		if r.Mod.Path == module {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", file, module)
}
