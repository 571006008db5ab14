package guard_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/loop"
)

// tape is where a wild run takes its chances from.
type tape []byte

func (t *tape) next() int {
	if len(*t) == 0 {
		return 0
	}
	b := (*t)[0]
	*t = (*t)[1:]
	return int(b)
}

func pick[T any](t *tape, from []T) T { return from[t.next()%len(from)] }

// wild is a cluster that shows anything whatever, and checks what is done to it.
type wild struct {
	t            *testing.T
	tape         *tape
	app          *loadline.App
	set          guard.Settings
	now          time.Time
	alloc        []loadline.Allocation
	blind        []bool // by service: nothing usable is shown
	stop         context.CancelFunc
	moves, falls int
}

func wildApp() *loadline.App {
	return &loadline.App{
		Services: []loadline.Service{
			{Name: "web", Replicas: 4, Workers: 8, Bounds: loadline.Bounds{MinReplicas: 2, MaxReplicas: 30, MinCPU: 0.1, MaxCPU: 4,
				MinMemory: 1 << 20, MaxMemory: 1 << 30}},
			{Name: "db", Replicas: 3, Bounds: loadline.Bounds{MinReplicas: 1}},
		},
		Kinds: []loadline.Kind{{Name: "get", SLO: loadline.SLO{Percentile: 99, Latency: time.Second}}},
	}
}

func (c *wild) Now() time.Time { return c.now }

func (c *wild) WaitUntil(ctx context.Context, _ time.Time) error {
	if len(*c.tape) == 0 {
		c.stop()
	}
	c.now = c.now.Add(pick(c.tape, []time.Duration{
		15 * time.Second, 15 * time.Second, 15 * time.Second, time.Minute, 3 * time.Minute, 20 * time.Minute, 0, -time.Hour,
		-time.Second, 100 * time.Hour,
	}))
	return ctx.Err()
}

func (c *wild) Observe(_ context.Context, o *loadline.Observation) error {
	o.At = c.now
	o.Services, o.Kinds = o.Services[:0], o.Kinds[:0]
	missing := c.tape.next() // one in eight shows fewer services or kinds
	for i := range c.app.Services {
		c.blind[i] = true
		if missing%8 == 7 && i >= missing/8%2 {
			continue
		}
		var s loadline.ServiceObservation
		var seen [4]bool
		s.Rate, seen[0] = c.sample(100)
		s.CPU, seen[1] = c.sample(1)
		s.Concurrency, _ = c.sample(3)
		for range min(c.alloc[i].Replicas, 3) {
			pod := loadline.PodObservation{Phase: loadline.PodPhase(c.tape.next() % 4), Created: c.now.Add(-time.Hour),
				Ready: c.now.Add(-time.Duration(c.tape.next()) * time.Second), Size: c.alloc[i].Size}
			pod.CPU, seen[3] = c.sample(0.3)
			pod.Memory, _ = c.sample(1 << 20)
			// Start-up CPU does not count as sight of the load; the others do.
			seen[2] = seen[2] || seen[3] && pod.Phase != loadline.PodStarting && pod.Phase != loadline.PodPending
			s.Pods = append(s.Pods, pod)
		}
		c.blind[i] = !seen[0] && !seen[1] && !seen[2]
		o.Services = append(o.Services, s)
	}
	if missing%8 != 6 {
		var k loadline.KindObservation
		k.Rate, _ = c.sample(100)
		k.OverSLO, _ = c.sample(pick(c.tape, []float64{0, 0.001, 0.5, 1, 7}))
		o.Kinds = append(o.Kinds, k)
	}
	return pick(c.tape, []error{nil, nil, nil, nil, nil, nil, nil, errors.New("connection refused")})
}

// sample that may be anything, and whether it may be read.
func (c *wild) sample(v float64) (loadline.Sample, bool) {
	at := c.now.Add(-10 * time.Second)
	switch c.tape.next() % 12 {
	case 0, 1, 2, 3:
		return loadline.Sample{Value: v, At: at}, true
	case 4:
		return loadline.Sample{Value: 0, At: at}, true
	case 5:
		return loadline.Sample{Value: math.NaN(), At: at}, false
	case 6:
		return loadline.Sample{Value: math.Inf(1), At: at}, false
	case 7:
		return loadline.Sample{Value: -v - 1, At: at}, false
	case 8:
		return loadline.Sample{Value: v, At: at.Add(-c.set.Data.MaxAge)}, false
	case 9:
		return loadline.Sample{Value: v, At: c.now.Add(time.Hour)}, false
	}
	return loadline.Sample{}, false
}

func (c *wild) Allocation(into []loadline.Allocation) []loadline.Allocation {
	return append(into, c.alloc...)
}

// Apply checks all that the guards promise.
func (c *wild) Apply(_ context.Context, plan loadline.Plan) error {
	named := map[int]bool{}
	for _, p := range plan.Services {
		if named[p.Service] {
			c.t.Errorf("service %d is changed twice in a plan", p.Service)
		}
		named[p.Service] = true
		was := c.alloc[p.Service]
		is := was.With(p.Setting)
		c.inBounds(p.Service, is)
		c.withinStep(p.Service, was, is)
		if c.blind[p.Service] && less(was, is) {
			c.t.Errorf("service %d falls from %+v to %+v with nothing to see", p.Service, was, is)
		}
		c.alloc[p.Service] = is
		c.moves++
		if less(was, is) {
			c.falls++
		}
	}
	return pick(c.tape, []error{nil, nil, nil, errors.New("conflict")})
}

func none[T int64 | float64](limit T) float64 {
	if limit == 0 {
		return math.Inf(1)
	}
	return float64(limit)
}

func less(was, is loadline.Allocation) bool {
	return is.Replicas < was.Replicas ||
		is.Size.CPURequest < was.Size.CPURequest || none(is.Size.CPULimit) < none(was.Size.CPULimit) ||
		is.Size.MemoryRequest < was.Size.MemoryRequest || none(is.Size.MemoryLimit) < none(was.Size.MemoryLimit)
}

func (c *wild) inBounds(service int, is loadline.Allocation) {
	b := c.app.Services[service].Bounds
	within := func(what string, v, low, high float64) {
		if !(v >= low) || high > 0 && v > high || math.IsInf(v, 0) && high > 0 {
			c.t.Errorf("service %d: %s %v is outside %v to %v", service, what, v, low, high)
		}
	}
	within("replicas", float64(is.Replicas), float64(b.MinReplicas), float64(b.MaxReplicas))
	within("CPU request", is.Size.CPURequest, b.MinCPU, b.MaxCPU)
	within("CPU limit", none(is.Size.CPULimit), b.MinCPU, b.MaxCPU)
	within("memory request", float64(is.Size.MemoryRequest), float64(b.MinMemory), float64(b.MaxMemory))
	within("memory limit", none(is.Size.MemoryLimit), float64(b.MinMemory), float64(b.MaxMemory))
	if is.Size.CPURequest > none(is.Size.CPULimit) || float64(is.Size.MemoryRequest) > none(is.Size.MemoryLimit) {
		c.t.Errorf("service %d: a request above its limit: %+v", service, is.Size)
	}
}

func (c *wild) withinStep(service int, was, is loadline.Allocation) {
	s := c.set.Step
	up := max(s.UpPods, int(float64(was.Replicas)*s.UpPercent/100))
	down := max(s.DownPods, int(float64(was.Replicas)*s.DownPercent/100))
	if is.Replicas > was.Replicas+up || is.Replicas < was.Replicas-down {
		c.t.Errorf("service %d: from %d to %d replicas in one step", service, was.Replicas, is.Replicas)
	}
	factor := func(what string, from, to float64) {
		if from == 0 || math.IsInf(from, 1) {
			return // there was none to multiply
		}
		if f := to / from; !(f <= s.SizeUp+1e-9 && f >= s.SizeDown-1e-9) {
			c.t.Errorf("service %d: %s from %v to %v in one step", service, what, from, to)
		}
	}
	factor("CPU request", was.Size.CPURequest, is.Size.CPURequest)
	factor("CPU limit", none(was.Size.CPULimit), none(is.Size.CPULimit))
	factor("memory request", float64(was.Size.MemoryRequest), float64(is.Size.MemoryRequest))
	factor("memory limit", none(was.Size.MemoryLimit), none(is.Size.MemoryLimit))
}

// anything is a policy that does just that.
type anything struct {
	tape   *tape
	period time.Duration
	keep   int
	calm   bool // does not panic
}

func (anything) Name() string { return "anything" }

func (p anything) Needs() loadline.Needs { return loadline.Needs{Period: p.period, Keep: p.keep} }

func (p anything) Decide(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
	switch p.tape.next() % 16 {
	case 0, 15:
		return loadline.Proposal{}, loadline.ErrNoData
	case 1:
		return p.propose(), errors.New("half a thought")
	case 2:
		if !p.calm {
			panic("out of my mind")
		}
	case 3:
		return loadline.Proposal{}, nil
	case 4, 5, 6, 7, 8, 9, 10:
		return p.plausible(), nil
	}
	return p.propose(), nil
}

// plausible proposals are what a ladder lets pass.
func (p anything) plausible() loadline.Proposal {
	var out loadline.Proposal
	for i := range 2 {
		set := loadline.Setting{Replicas: loadline.Some(1 + p.tape.next()%30)}
		if p.tape.next()%2 == 0 {
			set.CPULimit = loadline.Some(0.1 + float64(p.tape.next())/100)
			set.MemoryLimit = loadline.Some(int64(1+p.tape.next()) << 20)
		}
		out.Services = append(out.Services, loadline.ServiceProposal{Service: i, Setting: set})
	}
	return out
}

func (p anything) propose() loadline.Proposal {
	var out loadline.Proposal
	for range p.tape.next() % 4 {
		var set loadline.Setting
		if axes := p.tape.next(); axes != 0 {
			if axes&1 > 0 {
				set.Replicas = loadline.Some(pick(p.tape, []int{0, 1, 2, 3, 5, 8, 13, 21, 29, 30, 31, 250, -1, 1 << 40, math.MaxInt,
					math.MinInt}))
			}
			cpu := []float64{0, 0.05, 0.1, 0.3, 0.5, 0.7, 1, 2, 4, 5, 1e9, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64,
				math.SmallestNonzeroFloat64}
			memory := []int64{0, 1, 1 << 20, 5 << 20, 64 << 20, 100 << 20, 1 << 30, 1 << 40, -1, math.MaxInt64, math.MinInt64}
			if axes&2 > 0 {
				set.CPURequest = loadline.Some(pick(p.tape, cpu))
			}
			if axes&4 > 0 {
				set.CPULimit = loadline.Some(pick(p.tape, cpu))
			}
			if axes&8 > 0 {
				set.MemoryRequest = loadline.Some(pick(p.tape, memory))
			}
			if axes&16 > 0 {
				set.MemoryLimit = loadline.Some(pick(p.tape, memory))
			}
			if axes&32 > 0 {
				set.Brownout = loadline.Some(axes&64 > 0)
			}
		}
		out.Services = append(out.Services, loadline.ServiceProposal{Service: pick(p.tape, []int{0, 1, 0, 1, 0, 1, -1, 2}), Setting: set})
	}
	return out
}

// runWild lets any policy and any rule loose on any observations.
func runWild(t *testing.T, data []byte) (moves, falls int) {
	chances := tape(data)
	c := &wild{t: t, tape: &chances, app: wildApp(), set: guard.Defaults(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, name := range []string{"disagreement", "observed", "starting", "burning", "gray", "cool-down", "startup-cpu"} {
		if chances.next()%3 == 1 {
			c.set.Off = append(c.set.Off, name)
		}
	}
	c.set.Floor = map[string]guard.Safe{"web": {Replicas: 20, CPU: 3, Memory: 512 << 20}, "db": {Replicas: 7, CPU: 2}}
	c.alloc = []loadline.Allocation{
		{Replicas: 4, Size: loadline.Size{CPURequest: 0.5, CPULimit: 1, MemoryRequest: 64 << 20, MemoryLimit: 128 << 20}},
		{Replicas: 3, Size: loadline.Size{CPURequest: 0.5}},
	}
	c.blind = make([]bool, len(c.alloc))
	model := anything{tape: &chances, period: pick(&chances, []time.Duration{15 * time.Second, 30 * time.Second, time.Minute}),
		keep: chances.next() % 5}
	rule := anything{tape: &chances, period: 15 * time.Second}
	l := &loop.Loop{App: c.app, Cluster: c, Clock: c}
	if chances.next()%4 == 0 { // without the ladder, which refuses much that the guards must be able to bear
		model.calm = true
		l.Policy, l.Guards = model, guard.Chain(c.set, c.app, nil)
	} else {
		g, err := guard.Around(c.set, c.app, model, rule)
		if err != nil {
			t.Fatal(err)
		}
		g.Install(l)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c.stop = stop
	if err := l.Run(ctx, c.now.AddDate(100, 0, 0)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return c.moves, c.falls
}

// FuzzGuard: whatever policies want and whatever is observed, what is applied
// stays in bounds and within step limits, and no service without measurements is reduced.
func FuzzGuard(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(wildBytes(seed, 400))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 1<<14 {
			runWild(t, data)
		}
	})
}

// TestGuardHoldsWhateverComes is the same with chances enough to see much.
func TestGuardHoldsWhateverComes(t *testing.T) {
	moves, falls := 0, 0
	for seed := range uint64(150) {
		m, f := runWild(t, wildBytes(seed, 8000))
		moves, falls = moves+m, falls+f
	}
	t.Logf("%d changes, %d of them reductions", moves, falls)
	if moves < 2000 || falls < 200 {
		t.Errorf("%d changes, %d of them reductions: too few to have tested anything", moves, falls)
	}
}

func wildBytes(seed uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	return data
}
