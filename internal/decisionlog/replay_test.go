package decisionlog

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

// recorded is a simulated run of ten minutes, read back from its log.
func recorded(t *testing.T, spec string) (*loadline.App, []*Record) {
	t.Helper()
	m, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.Parse("bursts", 10*time.Minute, time.Minute, 1)
	if err != nil {
		t.Fatal(err)
	}
	load, err := w.For(m.App)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := policy.New(spec, m.App)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log, err := Open(dir, Options{SegmentBytes: 1 << 20, Sync: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	r := &Recorder{Log: log, App: m.App, Needs: policy.Needs(), Fault: func(err error) { t.Error(err) }}
	_, err = simulate.Run(context.Background(), simulate.Spec{
		App: m.App, Load: load, Policy: spec, Engine: "fluid", Duration: 10 * time.Minute, Seed: 1,
		Hooks: simulate.Hooks{Decided: r.Decided, Decision: r.Done},
	})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	var app *loadline.App
	var all []*Record
	err = reader.Between(time.Time{}, time.Time{}, func(e Entry) error {
		app = e.App
		all = append(all, e.Record)
		return nil
	})
	if err != nil || len(reader.Damage) > 0 {
		t.Fatal(err, reader.Damage)
	}
	return app, all
}

func run(t *testing.T, app *loadline.App, spec string, records []*Record) ReplayReport {
	t.Helper()
	policy, err := policy.New(spec, app)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReplay(app, policy, spec)
	for _, record := range records {
		if err := r.Add(record); err != nil {
			t.Fatal(err)
		}
	}
	return r.Report(time.Duration(records[0].Needs.Period))
}

// The record is complete: the same policy makes the same proposal again.
func TestEveryPolicyAgreesWithItself(t *testing.T) {
	for _, spec := range []string{"hpa", "kpa", "vpa", "hpa+vpa", "ursa", "static:replicas=3"} {
		t.Run(spec, func(t *testing.T) {
			app, records := recorded(t, spec)
			report := run(t, app, spec, records)
			if report.Decisions != len(records) || report.Decisions < 10 {
				t.Errorf("%d of %d decisions replayed", report.Decisions, len(records))
			}
			if report.Differ > 0 || len(report.Remarks) > 0 {
				t.Errorf("%d decisions differ, the first: %+v; remarks %v", report.Differ, report.Differences[0], report.Remarks)
			}
			for _, s := range report.Services {
				if s.ReplicaHours != s.OtherReplicaHours || s.CoreHours != s.OtherCoreHours || !(s.ReplicaHours > 0) {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

func TestAnotherPolicyDiffers(t *testing.T) {
	app, records := recorded(t, "hpa")
	report := run(t, app, "static:replicas=3", records)
	if len(report.Remarks) != 2 || !strings.Contains(report.Remarks[0], "every 1m0s") {
		t.Errorf("remarks %q", report.Remarks)
	}
	hours := (10 * time.Minute).Hours()
	for i, s := range report.Services {
		if math.Abs(s.OtherReplicaHours-3*hours) > 1e-9 {
			t.Errorf("%s: %v replica-hours, want three replicas for ten minutes", s.Name, s.OtherReplicaHours)
		}
		if s.Differ == 0 || s.Largest == nil || s.Largest.Service != app.Services[i].Name {
			t.Errorf("%s: %+v", s.Name, s)
		}
	}
	episodes := report.LargestFirst()
	times := 0
	for i, e := range episodes {
		times += e.Times
		if i > 0 && e.replicas > episodes[i-1].replicas {
			t.Errorf("episode %d is larger than the one before", i)
		}
	}
	if times != len(report.Differences) || len(episodes) >= times {
		t.Errorf("%d episodes of %d differences hold %d", len(episodes), len(report.Differences), times)
	}
	one := report.Only("reviews")
	if len(one.Services) != 1 || one.Differ != one.Services[0].Differ || one.Differ == 0 || len(report.Services) != 4 {
		t.Errorf("only reviews: %+v", one.Services)
	}
}

// climbing proposes one replica more than is in flight, and would apply it late.
type climbing struct{ loadline.Policy }

func (climbing) Needs() loadline.Needs {
	return loadline.Needs{Period: 15 * time.Second, Delay: time.Hour}
}

func (climbing) Decide(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
	return loadline.Proposal{Services: []loadline.ServiceProposal{{
		Setting: loadline.Setting{Replicas: loadline.Some(s.InFlight[0].Replicas + 1)},
	}}}, nil
}

// The other policy's proposals have no effect: each decision is based on the record.
func TestNothingThatIsReplayedIsInFlight(t *testing.T) {
	app, records := recorded(t, "static:replicas=3")
	r := NewReplay(app, climbing{must(policy.New("hpa", app))}, "climbing")
	for _, record := range records {
		if err := r.Add(record); err != nil {
			t.Fatal(err)
		}
	}
	report := r.Report(15 * time.Second)
	if len(report.Differences) == 0 {
		t.Fatal("nothing differs, so nothing was compared")
	}
	for _, d := range report.Differences {
		if d.Service == app.Services[0].Name && d.Other.Setting().Replicas.Value != d.Before.Replicas+1 {
			t.Fatalf("at %v %+v was proposed over %d replicas", d.At, d.Other, d.Before.Replicas)
		}
	}
}

func must(p loadline.Policy, err error) loadline.Policy {
	if err != nil {
		panic(err)
	}
	return p
}

func TestWhatSawNothingIsLeftOut(t *testing.T) {
	app, records := recorded(t, "static:replicas=3")
	records = append(records, &Record{At: records[len(records)-1].At.Add(time.Minute), Policy: "static",
		Error: "observe: gone"})
	if report := run(t, app, "hpa", records); report.Blind != 1 || report.Decisions != len(records)-1 {
		t.Errorf("%+v", report)
	}
	r := NewReplay(app, nopolicy{}, "x")
	if err := r.Add(records[1]); err != nil {
		t.Fatal(err)
	}
	if err := r.Add(records[0]); err == nil {
		t.Error("back in time without an error")
	}
}

type nopolicy struct{}

func (nopolicy) Name() string          { return "none" }
func (nopolicy) Needs() loadline.Needs { return loadline.Needs{} }
func (nopolicy) Decide(time.Time, loadline.Situation) (loadline.Proposal, error) {
	return loadline.Proposal{}, nil
}

func TestTheRecordedLoadRunsAgain(t *testing.T) {
	app, records := recorded(t, "hpa")
	load := NewRecordedLoad(app)
	for _, r := range records {
		load.Add(r)
	}
	if err := load.Check(); err != nil {
		t.Fatal(err)
	}
	if over := load.OverSLO(); !(over >= 0 && over <= 1) {
		t.Errorf("share over the SLO %v", over)
	}
	out, err := simulate.Run(context.Background(), simulate.Spec{App: load.Start(), Load: load, Policy: "hpa", Engine: "fluid",
		Duration: load.Duration(), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	requests := 0.0
	for _, r := range records {
		requests += 15 * r.Kinds[0].Samples.Of(loadline.KindRate).Value
	}
	if got := float64(out.Result.Requests); math.Abs(got-requests) > 0.1*requests {
		t.Errorf("%v requests, and %v were recorded", got, requests)
	}
	if load.Start().Services[0].Replicas != records[0].Services[0].Desired.Replicas {
		t.Error("it does not begin as recorded")
	}
	if err := load.Onto(&loadline.App{Name: "other"}); err == nil || !strings.Contains(err.Error(), "other has 0 services") {
		t.Errorf("onto another application: %v", err)
	}
	if err := NewRecordedLoad(app).Check(); err == nil {
		t.Error("no load, and no error")
	}
}
