package workload

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

func twoKinds() *loadline.App {
	return &loadline.App{Name: "shop", Kinds: []loadline.Kind{{Name: "buy", Share: 1}, {Name: "query", Share: 3}}}
}

func counting(n int, step time.Duration) *Workload {
	w := &Workload{Name: "counting", Step: step, Rates: make([]float64, n)}
	for i := range w.Rates {
		w.Rates[i] = float64(i)
	}
	return w
}

func TestLoad(t *testing.T) {
	load, err := counting(3, 10*time.Second).For(twoKinds())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		kind  int
		at    time.Duration
		rate  float64
		until time.Duration
	}{
		{"before the beginning there is nothing", 0, -time.Second, 0, 0},
		{"a kind gets its share", 0, 10 * time.Second, 0.25, 20 * time.Second},
		{"so does the other", 1, 29 * time.Second, 1.5, 30 * time.Second},
		{"after the end there is nothing forever", 1, 30 * time.Second, 0, Forever},
	} {
		rate, until := load.Rate(c.kind, c.at)
		if rate != c.rate || until != c.until {
			t.Errorf("%s: got %v until %v", c.name, rate, until)
		}
	}
	if n := testing.AllocsPerRun(100, func() { load.Rate(1, 15*time.Second) }); n != 0 {
		t.Errorf("Rate allocates %v times", n)
	}
}

func TestLoadOfDriftingMix(t *testing.T) {
	w := counting(4, time.Second)
	w.Mix = &Mix{Kinds: []string{"query"}, Step: 1500 * time.Millisecond, Shares: []float64{2, 2, 2}}
	load, err := w.For(twoKinds())
	if err != nil {
		t.Fatal(err)
	}
	if rate, until := load.Rate(1, time.Second); rate != 1 || until != 1500*time.Millisecond {
		t.Errorf("got %v until %v", rate, until)
	}
	if rate, _ := load.Rate(0, time.Second); rate != 0 {
		t.Errorf("a kind outside the mix gets %v", rate)
	}
	w.Mix.Kinds = []string{"qery"}
	if _, err := w.For(twoKinds()); err == nil || !strings.Contains(err.Error(), "did you mean query?") {
		t.Errorf("unknown kind: %v", err)
	}
}

// The rates of a load, followed from instant to instant, add up to all requests.
func TestWalkingALoadMeetsEveryRequest(t *testing.T) {
	w, err := Parse("diurnal+noise+mix:query=1..3,buy=3..1,drift=0.2", time.Hour, 7*time.Second, 1)
	if err != nil {
		t.Fatal(err)
	}
	load, err := w.For(twoKinds())
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for kind := range 2 {
		for at := time.Duration(0); at < load.Duration(); {
			rate, until := load.Rate(kind, at)
			if until <= at {
				t.Fatalf("at %v until %v", at, until)
			}
			sum += rate * (until - at).Seconds()
			at = until
		}
	}
	if math.Abs(sum-w.Requests()) > 1e-6*sum {
		t.Errorf("met %v of %v requests", sum, w.Requests())
	}
}

func TestReshape(t *testing.T) {
	w := counting(100, time.Minute)
	scaled, _ := w.Scale(2)
	if scaled.Rates[99] != 198 || w.Rates[99] != 99 {
		t.Error("scale")
	}
	peak, err := w.Peak(50)
	if err != nil || peak.Max() != 50 {
		t.Errorf("peak %v %v", peak.Max(), err)
	}
	for _, step := range []time.Duration{time.Second, 30 * time.Second, 5 * time.Minute, 40 * time.Second, 150 * time.Second} {
		r, err := w.Resample(step)
		if err != nil {
			t.Fatal(err)
		}
		if w.Duration()%step == 0 && math.Abs(r.Requests()-w.Requests()) > 1e-6 {
			t.Errorf("bins of %v have %v of %v requests", step, r.Requests(), w.Requests())
		}
	}
	for name, err := range map[string]error{
		"scale by NaN":       second(w.Scale(math.NaN())),
		"negative peak":      second(w.Peak(-1)),
		"peak of nothing":    second((&Workload{Step: 1, Rates: []float64{0}}).Peak(1)),
		"step of 0":          second(w.Resample(0)),
		"step beyond end":    second(w.Resample(time.Hour * 24)),
		"slice of nothing":   second(w.Slice(time.Hour, time.Hour)),
		"slice after end":    second(w.Slice(100*time.Hour, 101*time.Hour)),
		"split beyond whole": third(w.Split(0.6, 0.3, 0.3)),
		"split of NaN":       third(w.Split(math.NaN(), 0.3, 0.3)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second(_ *Workload, err error) error   { return err }
func third(_ [3]*Workload, err error) error { return err }

func TestSlicesMeetWithoutOverlap(t *testing.T) {
	w := counting(10, 10*time.Second)
	for cut := time.Second; cut < 90*time.Second; cut += time.Second {
		a, err := w.Slice(0, cut)
		if err != nil {
			t.Fatal(err)
		}
		b, err := w.Slice(cut, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		sameValues(t, append(append([]float64{}, a.Rates...), b.Rates...), w.Rates)
	}
}

func TestSplitIsByTimeAndWhole(t *testing.T) {
	w := counting(1001, time.Second)
	w.Mix = &Mix{Kinds: []string{"a"}, Step: time.Minute, Shares: make([]float64, 17)}
	for i := range w.Mix.Shares {
		w.Mix.Shares[i] = float64(i + 1)
	}
	parts, err := w.Split(0.7, 0.1, 0.2)
	if err != nil {
		t.Fatal(err)
	}
	var joined []float64
	for _, p := range parts {
		if got, want := p.Mix.At(0)[0], w.Mix.At(time.Duration(p.Rates[0]) * time.Second)[0]; got != want {
			t.Errorf("%s begins with the mix of another time: %v, not %v", p.Name, got, want)
		}
		joined = append(joined, p.Rates...)
	}
	sameValues(t, joined, w.Rates)
	if len(parts[0].Rates) != 701 {
		t.Errorf("train has %d bins", len(parts[0].Rates))
	}
	// Appending to one part must not write into the next.
	_ = append(parts[0].Rates, -1)
	if parts[1].Rates[0] == -1 {
		t.Error("parts share room")
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	err := (&Workload{Name: "w", Rates: []float64{1, -1, math.NaN()}, Mix: &Mix{Kinds: []string{"a"}}}).Validate()
	for _, part := range []string{"step", "rates[1]", "rates[2]", "mix step", "mix shares"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
}

func TestConcat(t *testing.T) {
	a, b := counting(2, time.Minute), counting(3, time.Minute)
	w, err := Concat("days", a, b)
	if err != nil {
		t.Fatal(err)
	}
	sameValues(t, w.Rates, []float64{0, 1, 0, 1, 2})
	if err := second(Concat("none")); err == nil {
		t.Error("nothing was joined")
	}
	if err := second(Concat("odd", a, counting(1, time.Second))); err == nil {
		t.Error("bins of two lengths were joined")
	}
}
