package binaries

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFolderThatLacksSomethingIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kwok"), nil, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvDir, dir)
	_, err := Dir(context.Background(), new(bytes.Buffer))
	if err == nil || !strings.Contains(err.Error(), "kube-apiserver") || strings.Contains(err.Error(), "kwok") {
		t.Errorf("the error is %v", err)
	}
	for _, name := range lacking(dir, programs) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Dir(context.Background(), new(bytes.Buffer)); got != dir || err != nil {
		t.Errorf("the folder is %q, %v", got, err)
	}
}

func TestTheFolderIsKeyedByVersions(t *testing.T) {
	t.Setenv(EnvCache, "/cache")
	module := t.TempDir()
	key := func(text string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte("module m\n"+text), 0o666); err != nil {
			t.Fatal(err)
		}
		b, err := newBuild(module)
		if err != nil {
			t.Fatal(err)
		}
		return b.dir
	}
	first := key("require k8s.io/kubernetes v1.36.3\nrequire a.b/c v1.0.0")
	if !strings.HasPrefix(first, "/cache/cluster-bin/kubernetes-v1.36.3-") {
		t.Errorf("the folder is %s", first)
	}
	if same := key("require k8s.io/kubernetes v1.36.3\nrequire a.b/c v1.0.0 // indirect"); same != first {
		t.Error("a comment makes another folder")
	}
	if other := key("require k8s.io/kubernetes v1.36.3\nrequire a.b/c v1.0.1"); other == first {
		t.Error("another version has the same folder")
	}
	if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte("module m\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := newBuild(module); err == nil {
		t.Error("without Kubernetes there is nothing to build, and no error")
	}
}

func TestLinkFlagsSayTheVersion(t *testing.T) {
	flags := linkFlags("v1.36.3")
	for _, want := range []string{"-X k8s.io/component-base/version.gitVersion=v1.36.3 ", "-X k8s.io/client-go/pkg/version.gitMinor=36 "} {
		if !strings.Contains(flags, want) {
			t.Errorf("%q is not in %s", want, flags)
		}
	}
}

func TestTwoDoNotBuildAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(path, func() { t.Error("nobody has it, and one waits") })
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{})
	done := make(chan error)
	go func() {
		second, err := lock(path, func() { close(waiting) })
		if err == nil {
			second()
		}
		done <- err
	}()
	<-waiting
	select {
	case <-done:
		t.Fatal("both have it")
	default:
	}
	unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
