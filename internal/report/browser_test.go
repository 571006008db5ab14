package report

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestBrowser opens a report in a real browser and runs the checks of test/browser/report.mjs.
// The screenshots stay in out/browser.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes its time")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node: the browser test needs Node 20 or later")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "test/browser/node_modules/playwright-core")); err != nil {
		t.Skip("playwright-core is not installed: run npm ci in test/browser")
	}
	chromium := browser()
	if chromium == "" {
		t.Skip("there is no Chromium: install Debian's package chromium, or name one in CHROMIUM")
	}
	out := filepath.Join(root, "out", "browser")
	page := filepath.Join(out, "report.html")
	answer := filepath.Join(out, "answer.html")
	writeReports(t, page, answer)

	cmd := exec.Command(node, "report.mjs", page, out, answer)
	cmd.Dir = filepath.Join(root, "test/browser")
	cmd.Env = append(os.Environ(), "CHROMIUM="+chromium)
	text, err := cmd.CombinedOutput()
	t.Logf("%s", text)
	if err != nil {
		t.Fatal(err)
	}
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

// writeReports writes the page of a made-up bench, and the same with an answer.
func writeReports(t testing.TB, page, answer string) {
	t.Helper()
	dir := filepath.Join(filepath.Dir(page), "bench")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	writeFixture(t, dir)
	r, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	writePage(t, r, page)
	r.Lead(Lead{Kind: "keep", Sentence: "Keep HPA at 80 %: nothing is cheaper.", Facts: []Fact{{"Today", "12 USD a month"}}})
	if err := r.AddWhole(dir, "The held-out part", "In the fluid engine."); err != nil {
		t.Fatal(err)
	}
	writePage(t, r, answer)
}

func writePage(t testing.TB, r *Report, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.WriteHTML(file), file.Close()); err != nil {
		t.Fatal(err)
	}
}
