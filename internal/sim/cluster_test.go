package sim

import (
	"context"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// fakeEngine serves ten visits a second, each of 20 ms CPU and 50 ms latency,
// spread evenly over the pods.
type fakeEngine struct {
	app   *loadline.App
	now   time.Duration
	meter *Meter
	cp    *ControlPlane
	fluid bool
	busy  map[int64]float64 // core-seconds by pod
	lat   *Histogram
	reset bool // the pods' counters are reset halfway through the run
}

func newFakeEngine(app *loadline.App) *fakeEngine {
	e := &fakeEngine{app: app, meter: NewMeter(app, 0), busy: map[int64]float64{}, lat: NewHistogram(ExporterBits)}
	e.cp = NewControlPlane(Config{App: app}.WithDefaults(), e.meter, e)
	e.cp.Start()
	return e
}

func (e *fakeEngine) AdvanceTo(t time.Duration) {
	for e.now < t {
		step := min(time.Second, t-e.now)
		e.now += step
		e.cp.Run(e.now)
		ready := float64(e.cp.Ready(0))
		for _, slot := range e.cp.Slots(0) {
			if p := e.cp.Pod(slot); p.Phase == loadline.PodReady {
				e.busy[p.ID] += 0.2 * step.Seconds() / ready
			}
		}
		e.lat.AddN(int64(50*time.Millisecond), 10*step.Seconds())
	}
}
func (e *fakeEngine) Apply(p loadline.Plan)                      { e.cp.Apply(p, e.now) }
func (e *fakeEngine) Disturb(Disturbance)                        {}
func (e *fakeEngine) Meter() *Meter                              { return e.meter }
func (e *fakeEngine) ControlPlane() *ControlPlane                { return e.cp }
func (e *fakeEngine) Finish()                                    {}
func (e *fakeEngine) PodReady(int)                               {}
func (e *fakeEngine) PodDraining(slot int)                       {}
func (e *fakeEngine) PodStopped(int)                             {}
func (e *fakeEngine) PodResized(int)                             {}
func (e *fakeEngine) PodUsage(int, time.Duration) (a, b float64) { return 0, 0 }
func (e *fakeEngine) PodStarting(int)                            {}
func (e *fakeEngine) PodMemory(int) float64                      { return 0 }
func (e *fakeEngine) NodeChanged(int)                            {}
func (e *fakeEngine) PodLost(int)                                {}

func (e *fakeEngine) Read(r *Reading) {
	r.At = e.now
	r.Resize(1, 1, 1)
	n := 10 * e.now.Seconds()
	s := &r.Services[0]
	pods := s.Pods[:0]
	for _, slot := range e.cp.Slots(0) {
		p := e.cp.Pod(slot)
		cpu := e.busy[p.ID]
		if e.reset && e.now >= 30*time.Second {
			cpu -= 3
		}
		pods = append(pods, PodReading{Slot: slot, ID: p.ID, CPUSeconds: cpu, MemoryBytes: 1 << 20})
	}
	latency := s.Latency
	e.fill(&latency, n)
	*s = ServiceReading{Ended: n, Latency: latency, Own: LatencyReading{}, Pods: pods}
	s.Of[loadline.ServiceRate], s.Of[loadline.ServiceCPU] = n, n*0.02
	s.Of[loadline.ServiceConcurrency], s.Of[loadline.ServiceMemory] = n*0.05, 5<<20
	k := &r.Kinds[0]
	klat := k.Latency
	e.fill(&klat, n)
	*k = KindReading{Arrived: n, Ended: n, Over: n / 4, Latency: klat}
	r.Nodes[0] = NodeReading{CPUSeconds: n * 0.02, MemoryBytes: 9 << 20}
}

func (e *fakeEngine) fill(l *LatencyReading, n float64) {
	l.Count, l.SumSeconds = n, n*0.05
	if e.fluid {
		// The quantile grows from interval to interval, to test the weighting.
		l.P50, l.P90, l.P95, l.P99, l.AtSLO = e.now.Seconds(), 1, 1, 1, 1
		if e.now == 0 {
			l.P50 = math.NaN()
		}
		return
	}
	if l.Histogram == nil {
		l.Histogram = NewHistogram(ExporterBits)
	}
	l.Histogram.CopyFrom(e.lat)
}

func testApp() *loadline.App {
	return &loadline.App{
		Services: []loadline.Service{{
			Name: "web", Replicas: 2, Startup: loadline.Dist{Mean: 5 * time.Second},
			Size: loadline.Size{CPURequest: 0.5},
		}},
		Kinds: []loadline.Kind{{Name: "get", SLO: loadline.SLO{Percentile: 99, Latency: 100 * time.Millisecond}}},
		Nodes: []loadline.Node{{Name: "n1", Cores: 8, Memory: 1 << 33}},
	}
}

func observeAt(t *testing.T, c *Cluster, at time.Duration) loadline.Observation {
	t.Helper()
	var o loadline.Observation
	if err := c.WaitUntil(context.Background(), Time(at)); err != nil {
		t.Fatal(err)
	}
	if err := c.Observe(context.Background(), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func near(t *testing.T, what string, got loadline.Sample, want float64) {
	t.Helper()
	if !got.Present() || math.Abs(got.Value-want) > 0.07*math.Abs(want)+1e-12 {
		t.Errorf("%s = %+v, want about %v", what, got, want)
	}
}

func TestObserverGivesRatesOverTheWindow(t *testing.T) {
	app := testApp()
	c := NewCluster(app, newFakeEngine(app), Metrics{Scrape: 5 * time.Second, Window: 20 * time.Second}, 1)
	o := observeAt(t, c, time.Minute)
	s, k := &o.Services[0], &o.Kinds[0]
	near(t, "rate", s.Rate, 10)
	near(t, "CPU", s.CPU, 0.2)
	near(t, "concurrency", s.Concurrency, 0.5)
	near(t, "memory", s.Memory, 5<<20)
	near(t, "mean latency", s.Latency.Mean, 0.05)
	near(t, "p99", s.Latency.P99, 0.05)
	near(t, "pod CPU", s.Pods[0].CPU, 0.1)
	near(t, "over SLO", k.OverSLO, 0.25)
	near(t, "latency at the SLO", k.AtSLO, 0.05)
	near(t, "node CPU", o.Nodes[0].CPU, 0.2)
	if s.Throttled.Present() || s.Own.Mean.Present() {
		t.Error("what was never counted must be absent, not zero")
	}
	if got := s.Rate.At; !got.Equal(Time(time.Minute)) {
		t.Errorf("rate is of %v, want the newest scrape", got)
	}
}

func TestOneScrapeMakesNoRate(t *testing.T) {
	app := testApp()
	c := NewCluster(app, newFakeEngine(app), Metrics{Scrape: 15 * time.Second}, 1)
	o := observeAt(t, c, 14*time.Second)
	if o.Services[0].Rate.Present() || o.Kinds[0].Rate.Present() || o.Services[0].Pods[0].CPU.Present() {
		t.Error("a rate from one scrape")
	}
	if !o.Services[0].Memory.Present() || o.Services[0].ReadyPods() != 2 {
		t.Error("a gauge needs one scrape only, and pods are always known")
	}
}

func TestLagHidesTheNewestScrapes(t *testing.T) {
	app := testApp()
	c := NewCluster(app, newFakeEngine(app), Metrics{Scrape: 15 * time.Second}.Late(2), 1)
	if o := observeAt(t, c, 40*time.Second); o.Services[0].Rate.Present() {
		t.Error("a rate although only one scrape is visible")
	}
	o := observeAt(t, c, 50*time.Second)
	if got := Since(o.Services[0].Rate.At); got != 15*time.Second {
		t.Errorf("newest visible scrape is of %v, want 15s", got)
	}
}

func TestLostScrapes(t *testing.T) {
	app := testApp()
	c := NewCluster(app, newFakeEngine(app), Metrics{Scrape: time.Second, Window: 2 * time.Second, Loss: 0.5}, 1)
	absent, podAbsent := 0, 0
	for at := 10 * time.Second; at < 200*time.Second; at += time.Second {
		o := observeAt(t, c, at)
		if !o.Services[0].Rate.Present() {
			absent++
		} else {
			near(t, "rate", o.Services[0].Rate, 10)
		}
		if len(o.Services[0].Pods) != 2 {
			t.Fatal("pods are missing, though they come from the cluster's API")
		}
		if !o.Services[0].Pods[0].CPU.Present() {
			podAbsent++
		}
	}
	if absent == 0 || absent > 150 || podAbsent == 0 || podAbsent > 150 {
		t.Errorf("absent %d and %d times of 190 at half the scrapes lost", absent, podAbsent)
	}
	c = NewCluster(app, newFakeEngine(app), Metrics{Scrape: time.Second, Loss: 1}, 1)
	if o := observeAt(t, c, time.Minute); o.Services[0].Memory.Present() || o.Kinds[0].Rate.Present() {
		t.Error("everything lost, and still something seen")
	}
}

func TestNoiseIsDrawnOncePerScrape(t *testing.T) {
	app := testApp()
	c := NewCluster(app, newFakeEngine(app), Metrics{Scrape: time.Second, CPUNoise: 0.2}, 1)
	a, again := observeAt(t, c, time.Minute), observeAt(t, c, time.Minute)
	if a.Services[0].CPU != again.Services[0].CPU {
		t.Error("asking twice gives two answers")
	}
	if b := observeAt(t, c, 61*time.Second); a.Services[0].CPU.Value == b.Services[0].CPU.Value {
		t.Error("two scrapes with the same noise")
	}
}

func TestNewPodHasNoRateYet(t *testing.T) {
	app := testApp()
	c := NewCluster(app, newFakeEngine(app), Metrics{Scrape: 10 * time.Second}, 1)
	observeAt(t, c, 30*time.Second)
	plan := loadline.Plan{Services: []loadline.ServicePlan{{Service: 0, Setting: loadline.Setting{Replicas: loadline.Some(3)}}}}
	if err := c.Apply(context.Background(), plan); err != nil {
		t.Fatal(err)
	}
	pod := observeAt(t, c, 41*time.Second).Services[0].Pods[2]
	if pod.Phase != loadline.PodReady || pod.CPU.Present() {
		t.Errorf("the new pod is %v with CPU %+v, want ready and unknown", pod.Phase, pod.CPU)
	}
	pod = observeAt(t, c, 51*time.Second).Services[0].Pods[2]
	near(t, "CPU after two scrapes", pod.CPU, 0.2/3)
	if got := c.Allocation(nil)[0].Replicas; got != 3 {
		t.Errorf("allocation says %d replicas, want 3", got)
	}
}

func TestResetCounterNeverGivesANegativeRate(t *testing.T) {
	app := testApp()
	e := newFakeEngine(app)
	e.reset = true
	c := NewCluster(app, e, Metrics{Scrape: 10 * time.Second}, 1)
	for at := time.Duration(0); at <= time.Minute; at += 5 * time.Second {
		o := observeAt(t, c, at)
		if v := o.Services[0].Pods[0].CPU; v.Value < 0 {
			t.Errorf("at %v a rate of %v", at, v.Value)
		}
	}
}

func TestIntervalQuantilesAreWeighted(t *testing.T) {
	app := testApp()
	e := newFakeEngine(app)
	e.fluid = true
	c := NewCluster(app, e, Metrics{Scrape: 10 * time.Second, Window: 30 * time.Second}, 1)
	o := observeAt(t, c, time.Minute)
	near(t, "p50", o.Services[0].Latency.P50, (40.+50+60)/3)
	near(t, "at SLO", o.Kinds[0].AtSLO, 1)
}

func TestObservingDoesNotAllocate(t *testing.T) {
	for name, fluid := range map[string]bool{"histograms": false, "quantiles of the interval": true} {
		t.Run(name, func(t *testing.T) { observesWithoutAllocating(t, fluid) })
	}
}

func observesWithoutAllocating(t *testing.T, fluid bool) {
	app := testApp()
	engine := newFakeEngine(app)
	engine.fluid = fluid
	c := NewCluster(app, engine, Metrics{Scrape: time.Second, Window: 10 * time.Second, Loss: 0.1, CPUNoise: 0.1}, 1)
	var o loadline.Observation
	ctx := context.Background()
	at := time.Minute
	step := func() {
		at += time.Second
		if c.WaitUntil(ctx, Time(at)) != nil || c.Observe(ctx, &o) != nil {
			t.Fatal("failed")
		}
	}
	step()
	if n := testing.AllocsPerRun(50, step); n > 0 {
		t.Errorf("%v allocations per observation", n)
	}
}

func TestSameSeedSameObservations(t *testing.T) {
	app := testApp()
	run := func(seed uint64) loadline.Observation {
		return observeAt(t, NewCluster(app, newFakeEngine(app), Metrics{Scrape: time.Second, Loss: 0.3, CPUNoise: 0.3}, seed), time.Minute)
	}
	if !reflect.DeepEqual(run(7), run(7)) {
		t.Error("one seed, two observations")
	}
	if reflect.DeepEqual(run(7), run(8)) {
		t.Error("two seeds, one observation")
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	app := testApp()
	ctx, cancel := context.WithCancel(context.Background())
	c := NewCluster(app, newFakeEngine(app), Metrics{Scrape: time.Second}, 1)
	c.OnScrape(func(r *Reading) {
		if r.At == 3*time.Second {
			cancel()
		}
	})
	if err := c.WaitUntil(ctx, Time(time.Hour)); err != context.Canceled {
		t.Fatalf("err = %v", err)
	}
	if got := Since(c.Now()); got > 4*time.Second {
		t.Errorf("went on until %v", got)
	}
}
