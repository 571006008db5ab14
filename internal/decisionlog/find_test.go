package decisionlog

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// story writes a log in which web changes at 0, 4 and 8, db at 2, and nothing else up to 11.
func story(t *testing.T, o Options) string {
	t.Helper()
	dir := t.TempDir()
	l := open(t, dir, o)
	app := sampleApp()
	for n := range 12 {
		r := sampleRecord(app, n)
		web, db := r.Service("web"), r.Service("db")
		if n%4 != 0 {
			web.Plan = nil
		}
		if n == 2 {
			five := 5
			db.Plan = &Setting{Replicas: &five}
		}
		if !r.Changes() {
			r.Applied = time.Time{}
		}
		if err := l.Append(app, r); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func at(n float64) time.Time { return noon.Add(time.Duration(n * float64(15*time.Second))) }

func TestFind(t *testing.T) {
	for layout, o := range map[string]Options{"one segment": {}, "many segments": {SegmentSpan: 30 * time.Second}} {
		dir := story(t, o)
		for name, row := range map[string]struct {
			at      time.Time
			service string
			web, db int // of the change; -1 = none
			last    int
			onlyOne bool
		}{
			"the latest of each":                  {web: 8, db: 2, last: 11},
			"the one in force":                    {at: at(6.5), web: 4, db: 2, last: 6},
			"not before it is applied":            {at: at(4.05), web: 0, db: 2, last: 3},
			"from the instant that it is applied": {at: at(4).Add(time.Second), web: 4, db: 2, last: 4},
			"before there was one":                {at: at(1.5), web: 0, db: -1, last: 1},
			"one service":                         {service: "web", web: 8, last: 11, onlyOne: true},
			"an instant after the end is the end": {at: at(1000), web: 8, db: 2, last: 11},
			"one service, at an instant":          {at: at(3), service: "web", web: 0, last: 3, onlyOne: true},
		} {
			t.Run(layout+"/"+name, func(t *testing.T) {
				r, err := OpenReader(dir)
				if err != nil {
					t.Fatal(err)
				}
				found, err := r.Find(row.at, row.service)
				if err != nil {
					t.Fatal(err)
				}
				if want := map[bool]int{true: 1, false: 2}[row.onlyOne]; len(found) != want {
					t.Fatalf("%d findings", len(found))
				}
				check := func(f Finding, service string, change int) {
					t.Helper()
					switch {
					case f.Service != service || !f.Last.Record.At.Equal(at(float64(row.last))):
						t.Errorf("last of %s at %v", f.Service, f.Last.Record.At)
					case (f.Change == nil) != (change < 0):
						t.Errorf("change of %s: %v", service, f.Change)
					case change >= 0 && !f.Change.Record.At.Equal(at(float64(change))):
						t.Errorf("change of %s at %v, want that of %v", service, f.Change.Record.At, at(float64(change)))
					}
				}
				check(found[0], "web", row.web)
				if !row.onlyOne {
					check(found[1], "db", row.db)
				}
			})
		}
	}
}

func TestFindSaysWhatIsMissing(t *testing.T) {
	dir := story(t, Options{})
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Find(noon.Add(-time.Hour), ""); err == nil || !strings.Contains(err.Error(),
		"begins at 2026-03-01T12:00:00Z, after 2026-03-01T11:00:00Z") {
		t.Errorf("before the beginning: %v", err)
	}
	if _, err := r.Find(time.Time{}, "wbe"); err == nil || !strings.Contains(err.Error(), `did you mean "web"?`) {
		t.Errorf("a service that is not there: %v", err)
	}
	empty := t.TempDir()
	if _, err := OpenReader(empty); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty folder: %v", err)
	}
	if err := os.WriteFile(segmentPath(empty, 1), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err = OpenReader(empty); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Find(time.Time{}, ""); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty segment: %v", err)
	}
	if _, _, err := r.Span(); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty segment: %v", err)
	}
	if _, err := OpenReader(dir + "/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

// A plan that was applied late is written late; readers get it in order.
func TestBetweenIsInTheOrderOfDeciding(t *testing.T) {
	for layout, o := range map[string]Options{"one segment": {}, "many segments": {SegmentSpan: 15 * time.Second}} {
		dir := t.TempDir()
		l := open(t, dir, o)
		app := sampleApp()
		for _, n := range []int{0, 2, 3, 1, 4, 6, 5, 7} {
			if err := l.Append(app, sampleRecord(app, n)); err != nil {
				t.Fatal(err)
			}
		}
		r, err := OpenReader(dir)
		if err != nil {
			t.Fatal(err)
		}
		first, last, err := r.Span()
		if err != nil || !first.Equal(at(0)) || !last.Equal(at(7)) {
			t.Errorf("%s: from %v to %v, %v", layout, first, last, err)
		}
		var got []int
		share := 0.0
		r.Progress = func(s float64) { share = s }
		err = r.Between(at(1), at(6), func(e Entry) error {
			got = append(got, int(e.Record.At.Sub(noon)/(15*time.Second)))
			return nil
		})
		if wantRun(t, got, 1, 7); err != nil || share != 1 {
			t.Errorf("%s: %v, progress %v", layout, err, share)
		}
		stop := errors.New("enough")
		if err := r.Between(time.Time{}, time.Time{}, func(Entry) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("%s: %v", layout, err)
		}
	}
}

func TestRecorder(t *testing.T) {
	dir := t.TempDir()
	app := sampleApp()
	rec := &Recorder{
		Log: open(t, dir, Options{}), App: app, Needs: loadline.Needs{Period: 15 * time.Second}, Mode: "Act",
		Rung:  func() string { return "model" },
		Fault: func(err error) { t.Error(err) },
	}
	first, s := sampleDecision(app, at(0))
	rec.Decided(first, s)
	second, s2 := sampleDecision(app, at(1))
	second.Outlook = sampleOutlook()
	rec.Decided(second, s2)
	// The second overtakes the first, which is refused.
	second.Err = nil
	rec.Done(second)
	first.Applied, first.Err = time.Time{}, errors.New("apply: refused")
	rec.Done(first)
	// And once nothing could be observed.
	rec.Done(&loadline.Decision{At: at(2), Policy: "hpa", Err: errors.New("observe: connection refused")})

	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []*Record
	if err := r.Between(time.Time{}, time.Time{}, func(e Entry) error { all = append(all, e.Record); return nil }); err != nil ||
		len(all) != 3 {
		t.Fatalf("%d records, %v", len(all), err)
	}
	if all[0].Error != "apply: refused" || !all[0].Applied.IsZero() || all[1].Error != "" ||
		!all[1].Applied.Equal(at(1).Add(time.Second)) {
		t.Errorf("errors %q and %q", all[0].Error, all[1].Error)
	}
	if all[2].Seen() || all[2].Error != "observe: connection refused" || all[2].Rung != "model" || all[2].Mode != "Act" {
		t.Errorf("blind: %+v", all[2])
	}
	if all[1].Expected == nil || all[1].Expected.Kind != "buy" || all[1].Expected.Cores != 4.2 {
		t.Errorf("expected %+v", all[1].Expected)
	}
	o := all[1].Service("web").Outlook
	if o == nil || o.Load != 420 || o.Ahead != Seconds(time.Minute) || o.Planned.Capacity != 456 || o.RunnerUp.Allocation.Replicas != 5 ||
		o.Users == nil || o.Users.Latency != Seconds(120*time.Millisecond) {
		t.Errorf("outlook %+v", o)
	}
	if all[0].Service("web").Outlook != nil || all[1].Service("db").Outlook != nil {
		t.Error("an outlook that was not made")
	}
}

// sampleOutlook is an estimate for 5 to 6 replicas of the first service.
func sampleOutlook() *loadline.Outlook {
	estimate := func(replicas int, latency time.Duration) loadline.Estimate {
		n := float64(replicas)
		size := loadline.Size{CPURequest: 0.2, CPULimit: 0.5}
		return loadline.Estimate{Allocation: loadline.Allocation{Replicas: replicas, Size: size}, Capacity: 76 * n, Saturation: 100 * n,
			Latency: latency, Cores: 0.2 * n, PerHour: 0.01 * n}
	}
	return &loadline.Outlook{
		Currency: "USD", Cores: 4.2, Users: []loadline.UserOutlook{{Latency: 120 * time.Millisecond, OverSLO: 0.48}},
		Services: []loadline.ServiceOutlook{{
			Load: 420, Ahead: time.Minute, Part: loadline.SLO{Percentile: 99, Latency: 80 * time.Millisecond},
			Before: estimate(5, 0), Planned: estimate(6, 40*time.Millisecond), RunnerUp: estimate(5, 0),
		}},
	}
}
