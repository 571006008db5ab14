package serve

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/sandbox"
)

// hostile is the name of a file of rates.
const hostile = `<img src=x onerror=alert(1)>"'&amp;.csv`

// mostEngine is the limit of the compressed engine, in bytes.
const mostEngine = 4_000_000

// TestBrowser opens the sandbox in a real browser, with the engine in this program and in the
// browser, and runs the checks of test/browser/sandbox.mjs. The screenshots stay in out/browser.
func TestBrowser(t *testing.T) {
	if os.Getenv("LOADLINE_BROWSER") == "" && os.Getenv("LOADLINE_NIGHTLY") == "" {
		t.Skip("takes minutes beside other tests: run `make test-browser`, or `make nightly`")
	}
	if testing.Short() {
		t.Skip("a browser takes its time")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node: the browser test needs Node 20 or later")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"playwright-core", "axe-core"} {
		if _, err := os.Stat(filepath.Join(root, "test/browser/node_modules", module)); err != nil {
			t.Skipf("%s is not installed: run npm ci in test/browser", module)
		}
	}
	chromium := browser()
	if chromium == "" {
		t.Skip("there is no Chromium: install Debian's package chromium, or name one in CHROMIUM")
	}
	handler := NewHandler(sandbox.Settings{Load: hostile, Rates: &sandbox.Rates{StepSeconds: 60, PerSecond: []float64{30, 60, 90, 60}}})
	defer handler.Close()
	served := httptest.NewServer(handler)
	defer served.Close()
	folder := filepath.Join(t.TempDir(), "sandbox")
	if err := WriteFolder(folder, sandbox.Settings{App: "bookinfo"}, buildEngine(t, root)); err != nil {
		t.Fatal(err)
	}
	engine, err := os.Stat(filepath.Join(folder, "engine.wasm.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("the engine has %d bytes, compressed", engine.Size()); engine.Size() > mostEngine {
		t.Errorf("more than %d: look for a dependency that it does not need", mostEngine)
	}
	static := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer static.Close()

	cmd := exec.Command(node, "sandbox.mjs", served.URL+"/", static.URL+"/", filepath.Join(root, "out", "browser"), hostile)
	cmd.Dir = filepath.Join(root, "test/browser")
	cmd.Env = append(os.Environ(), "CHROMIUM="+chromium)
	text, err := cmd.CombinedOutput()
	t.Logf("%s", text)
	if err != nil {
		t.Fatal(err)
	}
}

// buildEngine makes the folder of the engine for browsers, as make sandbox does.
func buildEngine(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", filepath.Join(dir, engineFile), "./cmd/loadline-wasm")
	build.Dir = root
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	support, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(goroot)), "lib", "wasm", supportFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, supportFile), support, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// browser is the Chromium to use; empty = none.
func browser() string {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
