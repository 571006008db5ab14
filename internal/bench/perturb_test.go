package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/workload"
)

// A tenth of the requests of smallApp need nine times the CPU: they become half of all.
func TestTheDearKindBecomesHalfOfAll(t *testing.T) {
	app := smallApp().Model
	app.Kinds[1].Root.Work = 9
	w, err := workload.Parse("constant:rps=40", 10*time.Minute, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	dear, err := dearMix(app, w)
	if err != nil {
		t.Fatal(err)
	}
	load, err := dear.For(app)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := load.Rate(1, 4*time.Minute)
	after, _ := load.Rate(1, 6*time.Minute)
	if before >= 20 || math.Abs(after-20) > 1e-9 {
		t.Errorf("%v, then %v of 40 requests/s", before, after)
	}
}

func TestGrowthIsFiveOfHundredAWeek(t *testing.T) {
	w, err := workload.Parse("constant:rps=100", 10*time.Minute, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	grown, err := grow(nil, w)
	if err != nil {
		t.Fatal(err)
	}
	if got := grown.Rates[0]; math.Abs(got-121.550625) > 1e-6 || w.Rates[0] != 100 {
		t.Errorf("%v requests/s after four weeks, %v before", got, w.Rates[0])
	}
}

func TestNeighboursWakeInMidRun(t *testing.T) {
	n := wake(pool.Neighbours{Use: 0.3, Request: 0.5}, time.Hour)
	node := pool.Amount{Cores: 10}
	for at, want := range map[time.Duration]float64{0: 3, 29 * time.Minute: 3, 31 * time.Minute: 8.5, 59 * time.Minute: 8.5} {
		if got := n.On(node, at); math.Abs(got.Want-want) > 1e-9 || got.Request.Cores != 5 {
			t.Errorf("at %v they want %v and request %v cores, want %v and 5", at, got.Want, got.Request.Cores, want)
		}
	}
}

// After its minute the service needs what it needed before.
func TestASlowMinuteEnds(t *testing.T) {
	both, err := slowMinute(smallApp().Model, 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if len(both) != 2 || both[1].At-both[0].At != time.Minute || both[0].Version.CPUFactor*both[1].Version.CPUFactor != 1 {
		t.Errorf("%+v", both)
	}
}

// Every reason is there once, and each perturbed scene names a perturbation that exists.
func TestRegimes(t *testing.T) {
	scenes := suiteScenes(t, "regimes")
	if len(scenes) != len(regimes()) {
		t.Fatalf("%d scenes of %d regimes", len(scenes), len(regimes()))
	}
	perturbed := 0
	for i, s := range scenes {
		if len(s.Cluster.Pools) == 0 {
			t.Errorf("%s has no pool: nodes are free there", s.Name)
		}
		if s.Perturbation != regimes()[i].perturbation {
			t.Errorf("%s has the perturbation %q", s.Name, s.Perturbation)
		}
		if s.Perturbation != "" {
			perturbed++
			if _, err := perturbationNamed(s.Perturbation); err != nil {
				t.Error(err)
			}
		}
	}
	if perturbed != 8 {
		t.Errorf("%d scenes are perturbed", perturbed)
	}
}

// Rules are tuned on earlier data that show neither the campaign nor the release, and tuned again on
// data that show the release.
func TestSeasonsAreTunedOnEarlierDays(t *testing.T) {
	scenes := suiteScenes(t, "seasons")
	if len(scenes) != 3 {
		t.Fatalf("%d scenes", len(scenes))
	}
	s, err := apps.Busiest(scenes[0].App.Model)
	if err != nil {
		t.Fatal(err)
	}
	before, after := scenes[1].App.Model.Services[s].CPU.Mean, scenes[2].App.Model.Services[s].CPU.Mean
	if math.Abs(float64(after)/float64(before)-firstRelease) > 1e-6 {
		t.Errorf("CPU times %v and %v at calibration", before, after)
	}
	for i, want := range []int{1, 2, 1} {
		o := &opened{}
		past, err := o.validation(scenes[i].Workload)
		if err != nil {
			t.Fatal(err)
		}
		test, err := o.open(scenes[i].Workload, testPart, 1)
		if err != nil {
			t.Fatal(err)
		}
		if past[0].Duration() != threeDays || test.Duration() != sevenDays {
			t.Errorf("%s: %v of earlier data for %v", scenes[i].Name, past[0].Duration(), test.Duration())
		}
		if most := slices.Max(past[0].Rates); most > 0.95*slices.Max(test.Rates) {
			t.Errorf("%s: earlier data reach %v of %v requests/s", scenes[i].Name, most, slices.Max(test.Rates))
		}
		p, err := perturbationNamed(scenes[i].Perturbation)
		if err != nil {
			t.Fatal(err)
		}
		run, err := p.onRun(scenes[i].App.Model, scenes[i].Cluster, sevenDays)
		if err != nil {
			t.Fatal(err)
		}
		if len(run.Disturbances) != want {
			t.Errorf("%s: %d releases, want %d", scenes[i].Name, len(run.Disturbances), want)
		}
	}
}

// The announced event is the time from the begin of the sale to the end of its height.
func TestASaleIsAnnouncedAsItComes(t *testing.T) {
	w, err := workload.Parse("constant:rps=10", time.Hour, time.Minute, 1)
	if err != nil {
		t.Fatal(err)
	}
	sale, err := onSale(nil, w)
	if err != nil {
		t.Fatal(err)
	}
	events := announceSale(time.Hour)
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	rate := func(at time.Time) float64 { return sale.Rates[int(sim.Since(at)/sale.Step)] }
	e := events[0]
	for at, want := range map[time.Time]float64{
		e.Start.Add(-time.Minute): 10, e.Start.Add(5 * time.Minute): 30, e.End.Add(-time.Minute): 30, e.End.Add(6 * time.Minute): 10,
	} {
		if got := rate(at); math.Abs(got-want) > 0.1 {
			t.Errorf("%v requests/s at %v, want %v", got, at, want)
		}
	}
	if e.Factor != saleFactor {
		t.Errorf("announced as %v times the load", e.Factor)
	}
}
