package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/apps"
)

// browserStage is four applications of two namespaces: one under a planner with a day's load, one that
// only recommends, one whose metrics stop, and one with hostile names.
func browserStage(t *testing.T) *stage {
	t.Helper()
	shop, err := apps.Scale(mustApp(t, "boutique"), 4)
	if err != nil {
		t.Fatal(err)
	}
	return newStage(t, 125*time.Minute,
		&stageApp{namespace: "shop", name: "boutique", app: shop, policy: "planner", load: "day", peak: 240, from: 8 * time.Hour,
			engine: "event", mode: v1alpha1.Act},
		&stageApp{namespace: "shop", name: "reviews", app: mustApp(t, "bookinfo"), policy: "planner:utilisation=120,down-window=600s",
			load: "day", peak: 60, from: 9 * time.Hour,
			engine: "fluid", mode: v1alpha1.Recommend},
		&stageApp{namespace: bobNamespace, name: "stream", app: mustApp(t, "single"), policy: "planner", load: "day", peak: 80,
			from: 9 * time.Hour, engine: "fluid",
			mode: v1alpha1.Act},
		&stageApp{namespace: bobNamespace, name: "hostile", app: renamed(mustApp(t, "bookinfo")), policy: "planner",
			load: "day", peak: 60, from: 9 * time.Hour,
			engine: "fluid", mode: v1alpha1.Act})
}

// kubeconfigOf a token, for a cluster that is not asked.
func kubeconfigOf(t *testing.T, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: %s}}]
`, token)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// startUI runs loadline ui until the test ends, and returns the address that it prints.
func startUI(t *testing.T, args ...string) (address string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	out, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		root := NewRoot()
		root.SetArgs(append([]string{"ui"}, args...))
		root.SetOut(stdout)
		root.SetErr(io.Discard)
		err := root.ExecuteContext(ctx)
		stdout.CloseWithError(io.EOF)
		ended <- err
	}()
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/#key=[0-9a-f]{64}`).FindString(line)
	if err != nil || address == "" {
		stop()
		t.Fatalf("%q, %v, %v", line, err, <-ended)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("loadline ui ended with %v", err)
		}
	})
	return address
}

// TestBrowserConsole opens the page in a real browser, served by loadline ui and by the console itself,
// over simulated clusters that go on, and runs the checks of test/browser/console.mjs. The screenshots
// stay in out/browser. With LOADLINE_BROWSER=hold it serves the page until the time of the test is over
// instead, to look at it by hand.
func TestBrowserConsole(t *testing.T) {
	how := os.Getenv("LOADLINE_BROWSER")
	if how == "" && os.Getenv("LOADLINE_NIGHTLY") == "" {
		t.Skip("takes minutes beside other tests: run `make test-browser`, or `make nightly`")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	s := browserStage(t)
	s.addModels(client.ObjectKey{Namespace: "shop", Name: "reviews"}, "testdata/registry")
	s.apps[2].run.StopMetrics(true) // the guard holds it
	s.advance(10 * time.Minute)
	address := startUI(t, "--kubeconfig", kubeconfigOf(t, aliceToken), "--console", "http://"+s.address)
	ctx, stop := context.WithCancel(t.Context())
	ticking := make(chan struct{})
	go func() {
		defer close(ticking)
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
				s.advance(15 * time.Second)
			}
		}
	}()
	defer func() { stop(); <-ticking }()
	if how == "hold" {
		fmt.Println(address, "http://"+s.address)
		if deadline, has := t.Deadline(); has {
			time.Sleep(time.Until(deadline) - 10*time.Second)
		}
		return
	}
	node, chromium := browserTools(t, root)
	cmd := exec.Command(node, "console.mjs", address, "http://"+s.address+"/", filepath.Join(root, "out", "browser"),
		aliceToken, bobToken, hostileName)
	cmd.Dir = filepath.Join(root, "test/browser")
	cmd.Env = append(os.Environ(), "CHROMIUM="+chromium)
	text, err := cmd.CombinedOutput()
	t.Logf("%s", text)
	if err != nil {
		t.Fatal(err)
	}
}

// browserTools are Node and Chromium; without one of them the test is skipped.
func browserTools(t *testing.T, root string) (node, chromium string) {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes its time")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node: the browser test needs Node 20 or later")
	}
	for _, module := range []string{"playwright-core", "axe-core"} {
		if _, err := os.Stat(filepath.Join(root, "test/browser/node_modules", module)); err != nil {
			t.Skipf("%s is not installed: run npm ci in test/browser", module)
		}
	}
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return node, path
		}
	}
	t.Skip("there is no Chromium: install Debian's package chromium, or name one in CHROMIUM")
	return "", ""
}

// renamed gives an application a hostile service and a hostile kind of request.
func renamed(a *loadline.App) *loadline.App {
	a.Services[len(a.Services)-1].Name = hostileName
	a.Kinds[0].Name = hostileName
	return a
}
