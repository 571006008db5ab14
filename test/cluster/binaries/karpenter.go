package binaries

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Karpenter with its KWOK provider. It is not among the requirements of go.mod: it is needed
// only at night, and its dependencies would set versions of the others.
const (
	karpenterModule  = "sigs.k8s.io/karpenter"
	karpenterVersion = "v1.14.1"
)

// Karpenter returns the program and the folder of its module, which has the manifests. It
// builds the program if it is missing, which takes some minutes, with the versions that the
// module itself requires.
func Karpenter(ctx context.Context, progress io.Writer) (program, module string, err error) {
	if module, err = downloaded(ctx, karpenterModule+"@"+karpenterVersion); err != nil {
		return "", "", err
	}
	const name = "karpenter"
	if program = filepath.Join(os.Getenv(EnvDir), name); os.Getenv(EnvDir) != "" && isProgram(program) {
		return program, module, nil
	}
	dir, err := cacheDir("karpenter-"+karpenterVersion, "")
	if err != nil {
		return "", "", err
	}
	if program = filepath.Join(dir, name); isProgram(program) {
		return program, module, nil
	}
	unlock, err := lockDir(dir, progress)
	if err != nil {
		return "", "", err
	}
	defer unlock()
	if isProgram(program) {
		return program, module, nil
	}
	// `go install` names the program by its folder.
	part := filepath.Join(dir, ".part")
	defer os.RemoveAll(part)
	cmd := exec.CommandContext(ctx, "go", "install", "-trimpath", "-ldflags", "-s -w", karpenterModule+"/kwok@"+karpenterVersion)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOBIN="+part)
	if err := run(cmd, "Karpenter", progress); err != nil {
		return "", "", fmt.Errorf("build Karpenter: %w", err)
	}
	return program, module, os.Rename(filepath.Join(part, "kwok"), program)
}

// downloaded is the folder of a module, which is downloaded if it is missing.
func downloaded(ctx context.Context, module string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", module).Output()
	if err != nil {
		return "", fmt.Errorf("download %s: %w\n%s", module, err, out)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		return "", fmt.Errorf("download %s: %w", module, err)
	}
	return m.Dir, nil
}
