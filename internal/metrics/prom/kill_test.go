package prom

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/history"
)

func TestKilledPullResumes(t *testing.T) {
	w := prometheus(t)
	dir := filepath.Join(t.TempDir(), "past")
	// Once there are three parts, nothing is answered until the pull is killed.
	killed := make(chan struct{})
	url := behindProxy(t, w, func(http.ResponseWriter, *http.Request) bool {
		if len(partFiles(t, dir)) >= 6 {
			<-killed
		}
		return false
	})
	helper := exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), helperURL+"="+url, helperDir+"="+dir)
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	for len(partFiles(t, dir)) < 6 {
		time.Sleep(2 * time.Millisecond)
	}
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if helper.Wait() == nil {
		t.Fatal("the pull ended although it was not answered")
	}
	close(killed)
	if _, err := history.Read(dir, history.Options{}); err == nil || !strings.Contains(err.Error(), "unfinished") {
		t.Errorf("reading what was killed: %v", err)
	}
	kept := map[string]time.Time{}
	for _, file := range partFiles(t, dir) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		kept[file] = info.ModTime()
	}

	// It comes back later, without an end of its own: the one that was fixed
	// when it began stays.
	p := killable(client(t, Server{URL: url}), dir)
	p.Until, p.Now = time.Time{}, p.Now.Add(3*time.Hour)
	report, got := mustPull(t, p)
	if report.Kept < 2 || report.Kept >= report.Parts {
		t.Errorf("%d of %d parts were kept", report.Kept, report.Parts)
	}
	again := 0
	for file, at := range kept {
		if info, err := os.Stat(file); err != nil || !info.ModTime().Equal(at) {
			again++ // the two files of the part in which it was killed
		}
	}
	if again > 2 {
		t.Errorf("%d of %d files were made again", again, len(kept))
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.json")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	clean, want := mustPull(t, killable(client(t, Server{URL: url}), t.TempDir()))
	sameHistory(t, got, want)
	if !reflect.DeepEqual(report.Manifest.Absent, clean.Manifest.Absent) || !reflect.DeepEqual(report.Manifest.Notes,
		clean.Manifest.Notes) {
		t.Errorf("manifest %+v, want %+v", report.Manifest, clean.Manifest)
	}
}

func partFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// sameHistory holds two pulls of the same past against each other.
func sameHistory(t *testing.T, got, want *history.History) {
	t.Helper()
	if !got.Start.Equal(want.Start) || got.Steps != want.Steps || len(got.Services) != len(want.Services) ||
		len(got.Calls) != len(want.Calls) {
		t.Fatalf("%d steps from %v of %d services and %d calls, want %d from %v of %d and %d", got.Steps, got.Start, len(got.Services),
			len(got.Calls), want.Steps, want.Start, len(want.Services), len(want.Calls))
	}
	same := func(what string, a, b history.Series) {
		for i := range want.Steps {
			x, okX := a.Get(i)
			y, okY := b.Get(i)
			if okX != okY || okX && x != y {
				t.Errorf("%s at step %d: %v (%v), want %v (%v)", what, i, x, okX, y, okY)
				return
			}
		}
	}
	for i, s := range got.Services {
		for m := range s.Series {
			same(s.Name+" "+history.ServiceMetric(m).String(), s.Series[m], want.Services[i].Series[m])
		}
	}
	for i, c := range got.Calls {
		for m := range c.Series {
			same(c.From+" to "+c.To+" "+history.CallMetric(m).String(), c.Series[m], want.Calls[i].Series[m])
		}
	}
}

func TestResumeRefusesWhatDiffers(t *testing.T) {
	w := prometheus(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	p := killable(client(t, Server{URL: w.url}), dir)
	p.Progress = func(share float64) {
		if share > 0.2 {
			cancel()
		}
	}
	if _, err := p.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		change func(*Pull)
		want   string
	}{
		"another step":      {func(p *Pull) { p.Step = 30 * time.Second }, "step is 15s there and 30s here"},
		"another namespace": {func(p *Pull) { p.Namespace = "odd" }, "namespace is shop there and odd here"},
		"another span":      {func(p *Pull) { p.Since = time.Hour }, "number of steps"},
		"another variable":  {func(p *Pull) { p.Variables = map[string]string{"failed": `response_code="500"`} }, "other queries"},
		"another scrape":    {func(p *Pull) { p.Scrape = time.Minute }, "scrape interval of 15s, not 1m0s"},
		"another server": {func(p *Pull) { p.Client = client(t, Server{URL: strings.Replace(w.url, "127.0.0.1", "localhost", 1)}) },
			"source is"},
	} {
		t.Run(name, func(t *testing.T) {
			p := killable(client(t, Server{URL: w.url}), dir)
			row.change(p)
			if _, err := p.Run(context.Background()); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
	if _, err := killable(client(t, Server{URL: w.url}), dir).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	_, err := killable(client(t, Server{URL: w.url}), dir).Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "already holds a history") {
		t.Errorf("over a history that is complete: %v", err)
	}
}

func TestPartsWithoutTheirState(t *testing.T) {
	w := prometheus(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	p := killable(client(t, Server{URL: w.url}), dir)
	p.Progress = func(share float64) {
		if share > 0.2 {
			cancel()
		}
	}
	if _, err := p.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, stateFile)); err != nil {
		t.Fatal(err)
	}
	_, err := killable(client(t, Server{URL: w.url}), dir).Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "no pull.json") {
		t.Error(err)
	}
}

func TestNothingThere(t *testing.T) {
	w := prometheus(t)
	for name, row := range map[string]struct {
		namespace, preset string
		want              string
	}{
		"a misspelt namespace":   {"shopp", "", `did you mean "shop"`},
		"with a preset":          {"shopp", "istio", `did you mean "shop"`},
		"a preset without data":  {"shop", "linkerd", "linkerd"},
		"NaN alone":              {"nan", "", "every value of the series of istio in namespace nan is NaN"},
		"NaN with a preset":      {"nan", "istio", "every value of the series of istio in namespace nan is NaN"},
		"a name that is no name": {"Shop!", "", "must be the name of a Kubernetes namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			p := pull(client(t, Server{URL: w.url}), filepath.Join(t.TempDir(), "past"), row.namespace)
			if row.preset != "" {
				var err error
				if p.Preset, err = Load(row.preset); err != nil {
					t.Fatal(err)
				}
			}
			_, err := p.Run(context.Background())
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
			if _, err := os.Stat(p.Dir); !errors.Is(err, os.ErrNotExist) {
				t.Error("something was written")
			}
		})
	}
	p := pull(client(t, Server{URL: w.url}), t.TempDir(), "shop")
	p.Until = p.Until.Add(-1000 * time.Hour)
	if _, err := p.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "check the times that were asked for") {
		t.Errorf("before all data: %v", err)
	}
}
