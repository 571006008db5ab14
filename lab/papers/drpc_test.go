package papers

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/sim"
)

// drpcMayLack are measures that may be missing in a tiny experiment: untrained policies may
// fail all requests, which then have no response time; curves begin with the first evaluation;
// not every policy has parameters; nothing was timed.
func drpcMayLack() []string {
	all := []string{"mean ms", "square", "drpc", "drpc-branching", "coscal", "firm", "asarsa", "episodes to converge",
		"teacher's reward", "parameters", "CPU us per decision", "bytes per decision"}
	for p := range drpcPeriods {
		all = append(all, fmt.Sprintf("period %d", p+1))
	}
	for _, p := range drpcPercentiles {
		all = append(all, p+" ms")
	}
	for _, s := range drpcSpans {
		all = append(all, "within "+s.String())
	}
	return all
}

func TestDRPCRepeatsAndGoesOn(t *testing.T) {
	o := tiny(t, 1)
	o.few, o.Steps = true, 60
	var texts [2]bytes.Buffer
	for i := range texts {
		// The second time with the models of the first, one of which is torn, and with another
		// number of parallel runs.
		r, err := DRPC(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.WriteJSON(&texts[i]); err != nil {
			t.Fatal(err)
		}
		models, err := filepath.Glob(filepath.Join(o.Models, "*.safetensors"))
		if err != nil || len(models) != 5*(2+1) {
			t.Fatalf("%d models (%v), want two trials and another seed of five learners", len(models), err)
		}
		if err := os.Truncate(models[0], 20); err != nil {
			t.Fatal(err)
		}
		o.Workers = 3
	}
	if !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
		t.Error("the same seeds gave other figures")
	}
	o.Models = ""
	if _, err := DRPC(context.Background(), o); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("without a folder: %v", err)
	}
}

func TestReadAlibaba(t *testing.T) {
	w, err := ReadAlibaba(strings.NewReader("t_s,cpu_util_percent,mem_util_percent\n0,20,80\n30,20,80\n60,40,80\n90,40,80\n150,10,80\n"))
	if err != nil {
		t.Fatal(err)
	}
	if w.Step != minute || len(w.Rates) != 3 || w.Rates[0] != 0.5 || w.Rates[1] != 1 || w.Rates[2] != 0.625 {
		t.Errorf("%v in bins of %v, want the reading that is absent to be the one before", w.Rates, w.Step)
	}
	if _, err := ReadAlibaba(strings.NewReader("a,b\n1,2\n")); err == nil || !strings.Contains(err.Error(), "alibaba trace") {
		t.Error(err)
	}
}

// TestUsersDrift: every kind of request is sent, shares sum to 1 on the mean of a day, and the
// share of buyers varies.
func TestUsersDrift(t *testing.T) {
	app, err := appNamed("trainticket")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, k := range app.Kinds {
		known[k.Name] = true
	}
	for _, k := range drpcKinds {
		if !known[k] {
			t.Errorf("%s is no kind of request of trainticket", k)
		}
	}
	for _, u := range drpcUsers {
		sum := 0.0
		for kind, page := range u.pages {
			if sum += page; !known[kind] {
				t.Errorf("%s users send %s", u.name, kind)
			}
		}
		if math.Abs(sum-100) > 1e-9 {
			t.Errorf("pages of %s users sum to %v", u.name, sum)
		}
	}
	m := drpcMix(24 * time.Hour)
	low, high := math.Inf(1), 0.0
	for i := 0; i < m.Bins(); i++ {
		shares := m.At(time.Duration(i) * m.Step)
		sum := 0.0
		for _, s := range shares {
			if sum += s; s <= 0 {
				t.Fatalf("bin %d: %v", i, shares)
			}
		}
		cancel := shares[9] / sum
		low, high = min(low, cancel), max(high, cancel)
	}
	if high < 2*low {
		t.Errorf("cancelling goes from %v to %v of all requests, want it to drift", low, high)
	}
}

func TestPaperNodesHoldEveryService(t *testing.T) {
	app, err := appNamed("trainticket")
	if err != nil {
		t.Fatal(err)
	}
	onPaperNodes(app)
	if len(app.Nodes) != 4 || app.Nodes[0].Cores != 8 || app.Nodes[0].Memory != 8<<30 {
		t.Errorf("%+v", app.Nodes)
	}
	sum := int64(0)
	for _, s := range app.Services {
		sum += s.Size.MemoryRequest
		if s.Size.MemoryRequest < s.Memory.Base*5/4 || s.Size.MemoryLimit < s.Bounds.MinMemory ||
			s.Size.MemoryLimit > s.Bounds.MaxMemory || s.Replicas > s.Bounds.MaxReplicas {
			t.Errorf("%s: %+v within %+v, uses %d", s.Name, s.Size, s.Bounds, s.Memory.Base)
		}
	}
	if sum > 4*8<<30*3/4 {
		t.Errorf("one replica of each asks for %d GiB, which leaves nothing to scale with", sum>>30)
	}
}

func TestWatchAddsUpPeriods(t *testing.T) {
	w := &drpcWatch{}
	reading := func(at time.Duration, ended, failed, sum float64) {
		w.scrape(&sim.Reading{At: at, Kinds: []sim.KindReading{{Ended: ended, Failed: failed,
			Latency: sim.LatencyReading{Count: ended - failed, SumSeconds: sum}}}}, nil)
	}
	reading(30*time.Second, 50, 0, 5)
	reading(minute, 100, 0, 10)
	reading(2*minute, 200, 50, 15)
	success, failed, ms := w.period(minute, 2*minute)
	if math.Abs(success-50.0/60) > 1e-9 || failed != 50 || math.Abs(ms-100) > 1e-9 {
		t.Errorf("%v/s, %v %%, %v ms", success, failed, ms)
	}
	if got := w.volatility(0); math.Abs(got-math.Sqrt(0.125)/0.75) > 1e-9 {
		t.Errorf("volatility %v", got)
	}
	if _, failed, _ := w.period(10*minute, 20*minute); !math.IsNaN(failed) {
		t.Errorf("a period without requests has %v %% failed", failed)
	}
}

func TestParabola(t *testing.T) {
	x := []float64{0, 1, 2, 3, 5}
	var y []float64
	for _, v := range x {
		y = append(y, 7-2*v+0.5*v*v)
	}
	if got := parabola(x, y); math.Abs(got[0]-7) > 1e-9 || math.Abs(got[1]+2) > 1e-9 || math.Abs(got[2]-0.5) > 1e-9 {
		t.Errorf("%v", got)
	}
	if got := parabola([]float64{1, 1}, []float64{1, 2}); !math.IsNaN(got[2]) {
		t.Errorf("%v through one point", got)
	}
}

func TestVerdictsAreSeedBySeed(t *testing.T) {
	for name, row := range map[string]struct {
		a, b []float64
		want Verdict
	}{
		"a little below, every time":    {[]float64{1, 5, 9}, []float64{1.1, 5.1, 9.11}, Holds},
		"a little above, every time":    {[]float64{1.1, 5.1, 9.11}, []float64{1, 5, 9}, Not},
		"sometimes":                     {[]float64{1, 5, 9}, []float64{2, 4, 10}, Undecided},
		"the same":                      {[]float64{1, 5}, []float64{1, 5}, Not},
		"one seed proves nothing":       {[]float64{1}, []float64{5}, Undecided},
		"what is absent proves nothing": {[]float64{math.NaN(), math.NaN()}, []float64{5, 6}, Undecided},
	} {
		if got := lower(row.a, row.b); got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
	for want, all := range map[Verdict][]Verdict{
		Holds: {Holds, Holds}, Partly: {Holds, Not}, Not: {Not, Undecided}, Undecided: {Undecided, Undecided},
	} {
		if got := together(all...); got != want {
			t.Errorf("%v: %s, want %s", all, got, want)
		}
	}
}
