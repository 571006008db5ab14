package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/atomicfile"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"loadline": func() { Main(NewRoot, "") }, pluginName: func() { Main(RootOf(os.Args[0]), "") }})
}

// TestScripts runs testdata/script/*.txtar.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return os.Getuid() == 0, nil // to whom nothing is read-only
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"json":       checkJSON,
			"splitmodel": makeSplitModel,
		},
	})
}

// checkJSON is the script command "json FILE FIELD...": the file must be one JSON object with
// these fields.
func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	var object map[string]any
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &object); err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	for _, field := range args[1:] {
		if _, found := object[field]; found == neg {
			ts.Fatalf("%s: field %s: present %v", args[0], field, found)
		}
	}
}

func TestInterruptedSimulationWritesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	code := Run(ctx, []string{"simulate", "--app", "single", "--out", filepath.Join(dir, "r.json"), "--svg", filepath.Join(dir, "r.svg")},
		strings.NewReader(""), &stdout, &stderr)
	if code != exitInterrupted {
		t.Errorf("exit code %d, want %d: %s", code, exitInterrupted, stderr.String())
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 || stdout.Len() != 0 {
		t.Errorf("left %v behind and printed %q", files, stdout.String())
	}
}

func TestWriteFileIsWholeOrNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result")
	write := func(text string, err error) error {
		return atomicfile.Write(path, func(w io.Writer) error {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
			return err
		})
	}
	if err := write("first", nil); err != nil {
		t.Fatal(err)
	}
	if err := write("torn", errors.New("no more")); err == nil {
		t.Error("no error")
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "first" {
		t.Errorf("%q, %v", got, err)
	}
	if files, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); err != nil || len(files) != 0 {
		t.Errorf("left %v behind", files)
	}
}

func TestOverrideSLO(t *testing.T) {
	app := func() *loadline.App {
		return &loadline.App{Kinds: []loadline.Kind{
			{Name: "get", SLO: loadline.SLO{Percentile: 99, Latency: time.Second}},
			{Name: "buy", SLO: loadline.SLO{Percentile: 95, Latency: time.Second}},
		}}
	}
	for flag, want := range map[string][2]loadline.SLO{
		"250ms":         {{Percentile: 99, Latency: 250 * time.Millisecond}, {Percentile: 95, Latency: 250 * time.Millisecond}},
		"p99.9=2s":      {{Percentile: 99.9, Latency: 2 * time.Second}, {Percentile: 99.9, Latency: 2 * time.Second}},
		"buy:p90=100ms": {{Percentile: 99, Latency: time.Second}, {Percentile: 90, Latency: 100 * time.Millisecond}},
		"buy:100ms":     {{Percentile: 99, Latency: time.Second}, {Percentile: 95, Latency: 100 * time.Millisecond}},
	} {
		a := app()
		if err := overrideSLOs(a, []string{flag}); err != nil {
			t.Errorf("%s: %v", flag, err)
		}
		if a.Kinds[0].SLO != want[0] || a.Kinds[1].SLO != want[1] {
			t.Errorf("%s: %+v", flag, a.Kinds)
		}
	}
	err := overrideSLOs(app(), []string{"fast", "p0=1s", "99=1s", "buyy:1s", "-1s"})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"fast" must be a time`, `"p0" must be from`, `"99" must be`, `did you mean "buy"`,
		`"-1s" must be a time above 0`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestProgress(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	p := NewProgress(&b, "run")
	p.now = func() time.Time { return now }
	p.began, p.shown = now, now
	p.At(0.1)
	now = now.Add(time.Second)
	p.At(0.5)
	p.Done()
	if b.Len() != 0 {
		t.Errorf("said %q of what is quickly over", b.String())
	}
	now = now.Add(10 * time.Second)
	p.At(0.5)
	p.At(0.6)
	if got := b.String(); got != "run: 50 %, about 11s left\n" {
		t.Errorf("off a terminal: %q", got)
	}
	b.Reset()
	p.terminal = true
	now = now.Add(time.Second)
	p.At(0.6)
	p.Done()
	if got := b.String(); !strings.Contains(got, "60 %, about 8s left") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("on a terminal: %q", got)
	}
}

// TestProgressOfResumedWork: work that was done before does not count as speed. Here a quarter
// took 10 s, and a quarter is left.
func TestProgressOfResumedWork(t *testing.T) {
	var b bytes.Buffer
	now := time.Unix(0, 0)
	bar := NewProgress(&b, "train")
	bar.now, bar.began, bar.shown, bar.from = func() time.Time { return now }, now, now, 0.5
	now = now.Add(10 * time.Second)
	bar.At(0.75)
	if got := b.String(); got != "train: 75 %, about 10s left\n" {
		t.Errorf("%q", got)
	}
}
