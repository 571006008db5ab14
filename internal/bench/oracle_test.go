package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
)

// threeSteps of four minutes: 10, 90 and 40 requests per second.
type threeSteps struct{}

func (threeSteps) Rate(_ int, t time.Duration) (float64, time.Duration) {
	const step = 4 * time.Minute
	switch t / step {
	case 0:
		return 10, step
	case 1:
		return 90, 2 * step
	}
	return 40, math.MaxInt64
}

func smallOracle(t *testing.T) OracleTask {
	app := oneService()
	app.Services[0].Size = loadline.Size{CPURequest: 0.4, CPULimit: 1, MemoryRequest: 64 << 20, MemoryLimit: 128 << 20}
	app.Services[0].Bounds.MaxReplicas, app.Services[0].Bounds.MaxCPU = 6, 1
	return OracleTask{
		App: app, Load: CalibrationLoad{Rates: threeSteps{}, Duration: 12 * time.Minute, Seed: 5}, Budget: OracleBudget{Fluid: 1500, Event: 240},
		Cluster: pool.Cluster{Pools: []pool.Pool{mustPool(t, "cores=1,memory=4Gi,price=0.1,start=20s,start-cv=0,consolidate=10s")}},
	}
}

// TestOracleAgainstBruteForce: every plan of one to five replicas in three steps, of two
// sizes, with and without a minute's lead.
func TestOracleAgainstBruteForce(t *testing.T) {
	task := smallOracle(t)
	found, err := SearchSchedule(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	s := &scheduleSearch{OracleTask: task, ctx: context.Background(), eventKnown: map[string]Try{},
		seeds: []uint64{task.Load.Seed + 1_000_003, task.Load.Seed + 2_000_003}}
	best := Try{Over: 1}
	for request, aheads := range map[float64][]time.Duration{0.1: {0}, 0.4: {0, time.Minute}} {
		for _, ahead := range aheads {
			for n := range 125 {
				plan := policy.NewSchedule(task.App)
				to := plan.Steps[0][0].Allocation
				to.Size.CPURequest = request
				for i, replicas := range []int{1 + n%5, 1 + n/5%5, 1 + n/25} {
					to.Replicas = replicas
					plan.Set(0, max(time.Duration(i)*4*time.Minute-ahead, 0), to)
				}
				tried, err := s.event(candidate{schedule: plan})
				if err != nil {
					t.Fatal(err)
				}
				if better(tried, best) {
					best = tried
					best.Spec = fmt.Sprint(plan.Steps)
				}
			}
		}
	}
	got := found.Finalists[0]
	t.Logf("%s: %+v after %d and %d evaluations; brute force %+v", got.Origin, got.Figures, found.Fluid, found.Event, best)
	if !meets(best) || !found.Feasible() || got.Figures.Bill > 1.02*best.Bill {
		t.Errorf("the oracle found %+v (%s), brute force %+v", got.Figures, got.Origin, best)
	}
}

func TestOneSearchOneSchedule(t *testing.T) {
	task := smallOracle(t)
	task.Budget = OracleBudget{Fluid: 60, Event: 20}
	var texts []string
	for range 2 {
		found, err := SearchSchedule(context.Background(), task)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(found)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] {
		t.Errorf("two schedules:\n%s\n%s", texts[0], texts[1])
	}
}

// TestRepeatedScheduleIsTheSameRun: what a policy applied is recorded precisely enough.
func TestRepeatedScheduleIsTheSameRun(t *testing.T) {
	app := smallApp().Model
	for _, spec := range []string{"hpa", "vpa", "autothrottle", "sre", "static:replicas=2,cpu=0.3"} {
		notes := newNotebook(app, pool.Prices{})
		run := simulate.Spec{
			App: app, Load: waves{}, Policy: spec, Engine: "event", Duration: 8 * time.Minute, Seed: 3,
			Cluster: pool.Cluster{Pools: []pool.Pool{mustPool(t, "cores=2,memory=4Gi,price=0.1,start=20s")}},
			Hooks:   simulate.Hooks{Decision: notes.hooks(0).Decision},
		}
		first, err := simulate.Run(context.Background(), run)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(notes.schedule(first.Deployed))
		if err != nil {
			t.Fatal(err)
		}
		var kept policy.Schedule
		if err := json.Unmarshal(text, &kept); err != nil {
			t.Fatal(err)
		}
		run.Decider, run.Hooks = policy.NewScheduled(&kept), simulate.Hooks{}
		again, err := simulate.Run(context.Background(), run)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := first.Result, again.Result; differ(a.Bill, b.Bill) || a.OverSLORatio != b.OverSLORatio ||
			differ(a.CoreHours, b.CoreHours) {
			t.Errorf("%s: bill %v and %v, over %v and %v, core-hours %v and %v, %d bytes", spec, a.Bill, b.Bill, a.OverSLORatio,
				b.OverSLORatio,
				a.CoreHours, b.CoreHours, len(text))
		}
	}
}

// differ by more than the rounding of sums.
func differ(a, b result.Number) bool { return math.Abs(float64(a-b)) > 1e-12 }

func oracleMatrix(t *testing.T) Matrix {
	m := smallMatrix("hpa", "hpa:target=95,down-window=0s", "static:replicas=2,cpu=0.5", "oracle")
	m.Seeds = 2
	m.Cluster.Pools = []pool.Pool{mustPool(t, "cores=2,memory=4Gi,price=0.1,start=20s")}
	return m
}

// TestOracleIsNeverAboveWhatRan: seed by seed.
func TestOracleIsNeverAboveWhatRan(t *testing.T) {
	dir := t.TempDir()
	results := mustRun(t, oracleMatrix(t), Options{Dir: dir})
	cheapest := map[uint64]float64{}
	for _, row := range results.Rows {
		for _, key := range row.Runs {
			r, err := ReadRecord(dir, key)
			if err != nil {
				t.Fatal(err)
			}
			if !isOracle(row.Case) && r.Result.SLOMet() && (cheapest[r.Seed] == 0 || float64(r.Result.Bill) < cheapest[r.Seed]) {
				cheapest[r.Seed] = float64(r.Result.Bill)
			}
			if isOracle(row.Case) && (!r.Result.SLOMet() || float64(r.Result.Bill) > cheapest[r.Seed]*(1+1e-9) || r.Origin == "") {
				t.Errorf("seed %d: the oracle's bill is %v with %v over, from %q; the cheapest other %v", r.Seed, r.Result.Bill,
					r.Result.OverSLORatio, r.Origin, cheapest[r.Seed])
			}
		}
	}
	if len(cheapest) != 2 {
		t.Errorf("policies met the SLO under %d of 2 seeds", len(cheapest))
	}
}

// TestCheaperRunIsRepeated: a search without any budget finds little, and the oracle then repeats
// what ran.
func TestCheaperRunIsRepeated(t *testing.T) {
	m := oracleMatrix(t).withDefaults()
	cells, _, err := m.cells("")
	if err != nil {
		t.Fatal(err)
	}
	s, err := openStore(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	jobs := m.jobs(cells)
	r := &runner{matrix: m, store: s, meter: newWorkMeter(len(jobs), nil)}
	ran, err := r.runOne(context.Background(), jobs[4], m.Policies[2].Spec)
	if err != nil || !ran.Result.SLOMet() {
		t.Fatalf("%+v, %v", ran, err)
	}
	dear := policy.NewSchedule(smallApp().Model)
	for i := range dear.Steps {
		dear.Steps[i][0].Replicas = 10
	}
	records := make([]*Record, len(jobs))
	records[4] = ran
	best, err := r.bestUnder(context.Background(), jobs[6], []OracleFinalist{{Origin: "dear", Schedule: dear}},
		startsUnder(jobs[6], jobs, records))
	if err != nil || differ(best.Result.Bill, ran.Result.Bill) || best.Origin != "repeats static:replicas=2,cpu=0.5, seed 1" {
		t.Errorf("bill %v from %q, %v; what ran %v", best.Result.Bill, best.Origin, err, ran.Result.Bill)
	}
}

func TestInterruptedOracleResumes(t *testing.T) {
	m := oracleMatrix(t)
	whole, parts := t.TempDir(), t.TempDir()
	mustRun(t, m, Options{Dir: whole})
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Run(ctx, m, Options{Dir: parts, Workers: 1, Progress: func(p Progress) {
		if p.Done >= 7 { // six runs of others, and one of the oracle
			cancel()
		}
	}})
	var stopped *Interrupted
	if !errors.As(err, &stopped) {
		t.Fatalf("err %v", err)
	}
	if n := len(runFiles(t, parts)); n != 7 {
		t.Errorf("%d runs are kept, want 7", n)
	}
	mustRun(t, m, Options{Dir: parts})
	if string(read(t, filepath.Join(whole, ResultsJSON))) != string(read(t, filepath.Join(parts, ResultsJSON))) {
		t.Error("resumed, it has other results")
	}
}
