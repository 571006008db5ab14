package profile

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// bent is a profile of a queue with one worker and a capacity of 100 visits per second.
func bent() *Profile {
	p := &Profile{Service: "front", Percentile: 99, Size: Size{CPURequest: 1, CPULimit: 1}}
	for _, load := range []float64{5, 20, 40, 55, 65, 75, 85, 95} {
		l := 4.6 / (100 - load)
		p.Points = append(p.Points, Point{Load: load, Latency: l, Error: 0.01 * l})
	}
	p.Points = append(p.Points, Point{Load: 100, Saturated: true})
	return p
}

// windowsOf a queue like that with visits that take k times as long, with noise.
func windowsOf(rng *rand.Rand, k float64, from, n int, load func(i int) float64) []Window {
	var list []Window
	for i := range n {
		x := load(from + i)
		visits := x * 60
		curve, _ := bent().Curve()
		sigma := math.Sqrt(noise(99, visits, curve.slope(min(x*k, 95)))) * (1 + curve.slope(min(x*k, 95)))
		list = append(list, Window{At: time.Unix(int64(60*(from+i)), 0), Load: x,
			Latency: k * 4.6 / (100 - k*x) * math.Exp(sigma*rng.NormFloat64()), Visits: visits})
	}
	return list
}

func restless(i int) float64 { return 35 + 20*math.Sin(float64(i)/7) + 5*math.Sin(float64(i)*1.3) }

func newMonitor(t *testing.T) *Monitor {
	t.Helper()
	m, err := NewMonitor(bent(), MonitorConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// give feeds windows to a monitor, and returns the detected changes.
func give(m *Monitor, windows []Window) (changes []Change) {
	for _, w := range windows {
		if c, changed := m.Observe(w); changed {
			changes = append(changes, c)
		}
	}
	return changes
}

func TestStretchTakesTimeAndWork(t *testing.T) {
	p, err := bent().Stretch(2, 0.1).Curve()
	if err != nil {
		t.Fatal(err)
	}
	for _, load := range []float64{10, 20, 37.5} {
		if got, want := p.At(load), 2*4.6/(100-2*load); math.Abs(got/want-1) > 0.03 {
			t.Errorf("at %v visits/s %v s, want %v", load, got, want)
		}
	}
	if p.MaxLoad() != 47.5 {
		t.Errorf("it ends at %v, want 47.5", p.MaxLoad())
	}
	s := bent().Stretch(2, 0.1)
	if was, is := bent().Points[3], s.Points[3]; is.Error <= 2*was.Error || !s.Points[8].Saturated || s.Points[8].Load != 50 {
		t.Errorf("from %+v to %+v: the factor's error must add", was, is)
	}
	curve, _ := bent().Curve()
	for _, k := range []float64{0.3, 0.9, 1, 1.4, 2.5} {
		if got := math.Exp(curve.stretchAt(20, k*curve.At(20*k))); math.Abs(got/k-1) > 1e-6 {
			t.Errorf("a stretch of %v is taken for %v", k, got)
		}
	}
	if got := math.Exp(curve.stretchAt(50, 1e9)); math.Abs(got-1.9) > 1e-6 {
		t.Errorf("a saturated service is stretched by %v, at the least by 1.9", got)
	}
}

func TestMonitorNoticesAndFits(t *testing.T) {
	for _, k := range []float64{0.6, 1.3, 1.7} {
		rng := rand.New(rand.NewPCG(1, uint64(k*10)))
		m := newMonitor(t)
		if early := give(m, windowsOf(rng, 1, 0, 100, restless)); len(early) > 0 {
			t.Fatalf("x%v: an alarm before anything changed: %v", k, early)
		}
		changes := give(m, windowsOf(rng, k, 100, 80, restless))
		if len(changes) == 0 || changes[0].Kind != Jumped {
			t.Fatalf("x%v: not noticed: %v", k, changes)
		}
		first, last := changes[0], changes[len(changes)-1]
		if late := first.At.Sub(time.Unix(100*60, 0)); late > 5*time.Minute || first.Since.Before(time.Unix(99*60, 0)) {
			t.Errorf("x%v: noticed %v late, since %v", k, late, first.Since)
		}
		if off := math.Abs(last.Factor/k - 1); off > 0.05 || !(last.Error > 0) {
			t.Errorf("x%v: taken for %v +- %v", k, last.Factor, last.Error)
		}
		if m.Tally().Changes != 1 {
			t.Errorf("x%v: %+v", k, m.Tally())
		}
		curve, err := m.Profile().Curve()
		if err != nil {
			t.Fatal(err)
		}
		for _, load := range []float64{20, 35, 50} {
			if want := k * 4.6 / (100 - k*load); math.Abs(curve.At(load)/want-1) > 0.15 {
				t.Errorf("x%v: the new curve has %v s at %v visits/s, the truth is %v", k, curve.At(load), load, want)
			}
		}
		if again := give(m, windowsOf(rng, k, 180, 200, restless)); len(again) > 1 || len(again) == 1 && again[0].Kind != Refined {
			t.Errorf("x%v: the new curve did not hold: %v", k, again)
		}
	}
}

func TestMonitorSkipsUninformativeWindows(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	m := newMonitor(t)
	give(m, windowsOf(rng, 1, 0, 30, restless))
	at := time.Unix(9999, 0)
	for _, w := range []Window{
		{At: at},                       // no visits
		{At: at, Load: 30, Latency: 1}, // an unknown number of visits
		{At: at, Load: 30, Latency: math.NaN(), Visits: 10},
		{At: at, Load: 120, Latency: 5, Visits: 999}, // above its capacity
		{At: at, Load: 50, Latency: 4, Visits: 999},  // the previous queue
		{At: at, Load: 50, Latency: 2, Visits: 999},
	} {
		if c, changed := m.Observe(w); changed {
			t.Errorf("%+v: %v", w, c)
		}
	}
	if got := m.Tally(); got != (Tally{Windows: 30, Skipped: 6}) {
		t.Errorf("%+v", got)
	}
	if after := give(m, windowsOf(rng, 1, 36, 30, restless)); len(after) > 0 {
		t.Errorf("afterwards: %v", after)
	}
}

func TestOneStrangeWindowIsNoAlarm(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	m := newMonitor(t)
	windows := windowsOf(rng, 1, 0, 300, restless)
	for i := 20; i < len(windows); i += 40 {
		windows[i].Latency *= 20
	}
	if changes := give(m, windows); len(changes) > 0 {
		t.Errorf("%v", changes)
	}
}

func TestResizeIsKnownAtOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	m := newMonitor(t)
	give(m, windowsOf(rng, 1, 0, 30, restless))
	w := windowsOf(rng, 0.5, 30, 1, restless)[0]
	w.Size = Size{CPURequest: 1, CPULimit: 2}
	c, changed := m.Observe(w)
	if !changed || c.Kind != Resized || c.Factor != 0.5 || c.Profile.Size != w.Size || m.Profile().Size != w.Size {
		t.Fatalf("%v, %v", changed, c)
	}
	if curve, _ := m.Profile().Curve(); math.Abs(curve.MaxLoad()-190) > 1e-9 {
		t.Errorf("twice the CPU bears %v visits/s, want 190", curve.MaxLoad())
	}
	measured := bent().Stretch(0.7, 0)
	measured.Size = w.Size
	if err := m.Adopt(measured); err != nil || m.Profile() != measured {
		t.Errorf("the measured profile was not adopted: %v", err)
	}
	next := windowsOf(rng, 0.7, 31, 60, restless)
	for i := range next {
		next[i].Size = w.Size
	}
	if changes := give(m, next); len(changes) > 0 {
		t.Errorf("%v", changes)
	}
}

func TestMonitorRefuses(t *testing.T) {
	if _, err := NewMonitor(&Profile{Service: "front", Percentile: 99}, MonitorConfig{}); err == nil {
		t.Error("a profile without points was watched")
	}
	if _, err := NewMonitor(bent(), MonitorConfig{Threshold: -1}); err == nil || !strings.Contains(err.Error(), "threshold -1") {
		t.Errorf("%v", err)
	}
}

func TestSeen(t *testing.T) {
	at := time.Unix(1000, 0)
	sample := func(v float64) loadline.Sample { return loadline.Sample{Value: v, At: at} }
	size := loadline.Size{CPURequest: 1, CPULimit: 1}
	sound := func() *loadline.ServiceObservation {
		o := &loadline.ServiceObservation{Rate: sample(30), Pods: []loadline.PodObservation{
			{Phase: loadline.PodReady, Size: size}, {Phase: loadline.PodReady, Size: size}, {Phase: loadline.PodStarting},
		}}
		o.Own.P99 = sample(0.2)
		return o
	}
	want := Window{At: at, Load: 15, Latency: 0.2, Visits: 1800, Size: Size(size)}
	if w, ok := Seen(sound(), at, time.Minute, 99); !ok || w != want {
		t.Errorf("%v, %+v", ok, w)
	}
	for name, change := range map[string]func(*loadline.ServiceObservation){
		"no rate":            func(o *loadline.ServiceObservation) { o.Rate = loadline.Sample{} },
		"no visits":          func(o *loadline.ServiceObservation) { o.Rate = sample(0) },
		"no latency":         func(o *loadline.ServiceObservation) { o.Own = loadline.Latency{} },
		"no pod":             func(o *loadline.ServiceObservation) { o.Pods = nil },
		"pods of many sizes": func(o *loadline.ServiceObservation) { o.Pods[1].Size.CPULimit = 2 },
	} {
		o := sound()
		change(o)
		if w, ok := Seen(o, at, time.Minute, 99); ok {
			t.Errorf("%s: %+v", name, w)
		}
	}
	if _, ok := Seen(sound(), at, time.Minute, 98); ok {
		t.Error("a percentile that is not measured was observed")
	}
}
