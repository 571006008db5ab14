package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

var epoch = time.Date(2026, 3, 1, 0, 0, 15, 0, time.UTC)

// random makes a history with gaps, zeros and series that were never measured.
func random(rng *rand.Rand, services, steps int) *History {
	h := &History{
		Manifest: Manifest{Source: "test", Notes: []string{"a note"}, Part: steps/3 + 1 + rng.IntN(steps)},
		Start:    epoch, Step: 15 * time.Second, Steps: steps,
	}
	series := func() Series {
		if rng.IntN(4) == 0 {
			return nil
		}
		s := NewSeries(steps)
		for i := range s {
			switch rng.IntN(5) {
			case 0: // absent
			case 1:
				s[i] = 0
			default:
				s[i] = float32(rng.NormFloat64() * math.Pow(10, float64(rng.IntN(12))))
			}
		}
		return s
	}
	for i := range services {
		s := Service{Name: fmt.Sprintf("service-%d", i)}
		for _, m := range loadline.ServiceTable.Columns() {
			s.Series[m] = series()
		}
		h.Services = append(h.Services, s)
		c := Calls{To: s.Name, Operation: fmt.Sprintf("GET /%d", rng.IntN(3))}
		if i > 0 && rng.IntN(2) == 0 {
			c.From, c.Operation = h.Services[rng.IntN(i)].Name, ""
		}
		for m := range c.Series {
			c.Series[m] = series()
		}
		h.Calls = append(h.Calls, c)
	}
	h.Tidy()
	return h
}

// equal compares all but the manifest.
func equal(t *testing.T, got, want *History) {
	t.Helper()
	if !got.Start.Equal(want.Start) || got.Step != want.Step || got.Steps != want.Steps {
		t.Fatalf("%d steps of %v from %v, want %d of %v from %v", got.Steps, got.Step, got.Start, want.Steps, want.Step, want.Start)
	}
	if len(got.Services) != len(want.Services) || len(got.Calls) != len(want.Calls) {
		t.Fatalf("%d services and %d calls, want %d and %d", len(got.Services), len(got.Calls), len(want.Services), len(want.Calls))
	}
	for i := range want.Services {
		g, w := &got.Services[i], &want.Services[i]
		if g.Name != w.Name {
			t.Fatalf("service %d is %q, want %q", i, g.Name, w.Name)
		}
		for m := range w.Series {
			equalSeries(t, g.Name+" "+ServiceMetric(m).String(), g.Series[m], w.Series[m])
		}
	}
	for i := range want.Calls {
		g, w := &got.Calls[i], &want.Calls[i]
		if g.compare(w) != 0 {
			t.Fatalf("calls %d are %v, want %v", i, g, w)
		}
		for m := range w.Series {
			equalSeries(t, g.String()+" "+CallMetric(m).String(), g.Series[m], w.Series[m])
		}
	}
}

func equalSeries(t *testing.T, what string, got, want Series) {
	t.Helper()
	if (got == nil) != (want == nil) || len(got) != len(want) {
		t.Fatalf("%s: %d values (nil: %v), want %d (nil: %v)", what, len(got), got == nil, len(want), want == nil)
	}
	for i := range want {
		if got[i] != want[i] && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("%s: step %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

func TestCutSharesItsSpan(t *testing.T) {
	h := random(rand.New(rand.NewPCG(1, 1)), 3, 50)
	part := h.Cut(10, 20)
	if part.Steps != 10 || !part.Start.Equal(h.At(10)) {
		t.Fatalf("%d steps from %v", part.Steps, part.Start)
	}
	for i := range h.Services {
		for m, s := range h.Services[i].Series {
			cut := part.Services[i].Series[m]
			if (cut == nil) != (s == nil) {
				t.Fatalf("%v: nil %v became nil %v", ServiceMetric(m), s == nil, cut == nil)
			}
			if s != nil {
				equalSeries(t, "cut", cut, s[10:20])
			}
		}
	}
}

func TestAbsencesNameWhatNoServiceHas(t *testing.T) {
	h := &History{Start: epoch, Step: time.Second, Steps: 2, Services: []Service{{Name: "a"}, {Name: "b"}}}
	h.Services[1].Series[Rate] = Series{0, float32(math.NaN())}
	h.Services[0].Series[CPU] = NewSeries(2)
	absent := map[string]bool{}
	for _, a := range h.Absences("not requested") {
		absent[a.Of+" "+a.Metric] = true
	}
	if absent["service rate"] || !absent["service cpu"] || !absent["call rate"] {
		t.Errorf("absent %v: rate is there once, cpu never", absent)
	}
}
