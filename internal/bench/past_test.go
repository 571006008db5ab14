package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/workload"
)

func TestPastIsOfOtherSeedsAndEndsWhereRunsBegin(t *testing.T) {
	w := smallLoad(smallBursts, 6*time.Hour)
	past, err := new(opened).past(w)
	if err != nil {
		t.Fatal(err)
	}
	run, err := new(opened).open(w, testPart, 1)
	if err != nil {
		t.Fatal(err)
	}
	if past.Duration() < pastLength {
		t.Errorf("%v of past, want %v", past.Duration(), pastLength)
	}
	same := 0
	for i, rate := range run.Rates {
		if rate == past.Rates[i] {
			same++
		}
	}
	if same > len(run.Rates)/10 {
		t.Errorf("%d of %d rates of the run are in its past", same, len(run.Rates))
	}
	c := &cell{app: smallApp(), workload: w.Name, past: past}
	h, err := c.history(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if end := h.At(h.Steps - 1); !end.Equal(sim.Epoch) || h.Duration() != past.Duration() {
		t.Errorf("a history of %v until %v, want %v until %v", h.Duration(), end, past.Duration(), sim.Epoch)
	}
	users := h.Calls[0].Series[history.CallRate]
	if users.Present() != h.Steps {
		t.Errorf("users' requests are known in %d of %d steps", users.Present(), h.Steps)
	}
	if cpu := h.Services[0].Series[history.CPU].Present(); cpu < int((pastRecorded-time.Minute)/h.Step) || cpu > int(pastRecorded/h.Step) {
		t.Errorf("CPU is known in %d steps, want the last %v", cpu, pastRecorded)
	}
}

// TestPastOfATraceHasTheScaleOfTheRun: the run's part of a trace is scaled to its own peak.
func TestPastOfATraceHasTheScaleOfTheRun(t *testing.T) {
	path := t.TempDir() + "/trace.csv"
	var b strings.Builder
	b.WriteString("t_s,rps\n")
	for minute := range 300 {
		rate := "50"
		if minute >= 240 {
			rate = "10"
		}
		fmt.Fprintf(&b, "%d,%s\n", 60*minute, rate)
	}
	if err := writeWhole(path, []byte(b.String())); err != nil {
		t.Fatal(err)
	}
	w := Workload{Name: "trace", Spec: path, Peak: 40, Test: Span{4 * time.Hour, 5 * time.Hour}, Options: workload.Options{}}
	past, err := new(opened).past(w)
	if err != nil {
		t.Fatal(err)
	}
	if got := past.Max(); math.Abs(got-200) > 1e-6 || past.Duration() != 4*time.Hour {
		t.Errorf("%v req/s for %v before a run whose 10 req/s became 40, want 200 for 4h", got, past.Duration())
	}
}

func TestWarmPoliciesAreChecked(t *testing.T) {
	for _, c := range []struct{ policy, want string }{
		{"hpa:limits=lifted@warm", "cannot start with a history"},
		{"planner@warm@calibrated", "cannot be calibrated as well"},
		{"planner@warm", ""},
	} {
		m := smallMatrix(c.policy)
		_, err := m.Check("")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.policy, err, c.want)
		}
	}
}

func TestWarmRunsDifferFromColdOnes(t *testing.T) {
	m := smallMatrix("planner", "planner@warm")
	m.Seeds, m.Engine = 1, "fluid"
	results, err := Run(context.Background(), m, Options{Dir: t.TempDir(), Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if len(results.Rows) != 2 || results.Rows[0].Measures["core_hours"].Mean == results.Rows[1].Measures["core_hours"].Mean {
		t.Errorf("%+v: want two rows with other costs", results.Rows)
	}
}

// TestFlashesOfEarlierDataComeAtAnyTime: a policy that starts with a history knows how large a flash
// is, and cannot know when the next one comes.
func TestFlashesOfEarlierDataComeAtAnyTime(t *testing.T) {
	for _, l := range append(barScenes(), tunedScenes()...) {
		if l.load.Name != "flash" {
			continue
		}
		past, err := (&opened{}).past(l.load)
		if err != nil {
			t.Fatal(err)
		}
		each := int(l.load.Options.Duration / past.Step)
		starts := map[int]bool{}
		for from := 0; from+each <= len(past.Rates); from += each {
			starts[slices.IndexFunc(past.Rates[from:from+each], func(r float64) bool { return r > 30 })] = true
		}
		if len(starts) < 20 || starts[-1] {
			t.Errorf("%s: the flashes of %d draws begin at %d instants: %v", l.load.Options.Duration, len(past.Rates)/each, len(starts), starts)
		}
	}
}
