package guard_test

import (
	"math"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/policy"
)

// unscrape makes some pods of the service, and their part of its sums, absent.
func (sc *fixture) unscrape(n int) {
	web := sc.web()
	for i := range n {
		web.CPU.Value -= web.Pods[i].CPU.Value
		web.Pods[i].CPU, web.Pods[i].Memory = loadline.Sample{}, loadline.Sample{}
	}
}

// utilisation is the hpa rule in a nutshell.
type utilisation struct{ request, target float64 }

func (utilisation) Name() string          { return "hpa" }
func (utilisation) Needs() loadline.Needs { return loadline.Needs{Period: promiseTick, Keep: 1} }
func (u utilisation) Decide(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
	n := int(math.Ceil(s.Now().Services[0].CPU.Value / (u.request * u.target)))
	return loadline.Proposal{Services: []loadline.ServiceProposal{{Setting: toReplicas(n)}}}, nil
}

// TestHalfOfThePodsUnscraped: one kubelet is down, and the CPU of the service is a sum
// over the other half of its pods. With 8 cores in use nothing is reduced; when the load
// rises, the replicas do.
func TestHalfOfThePodsUnscraped(t *testing.T) {
	sc := newFixture()
	sc.set(14)
	p := newProcess(t, sc, guard.Defaults(), utilisation{1, 0.6})
	for range 20 {
		sc.observe(100, 8, 0)
		p.pass(t)
	}
	if got := sc.Allocation[0].Replicas; got != 14 {
		t.Fatalf("%d replicas while everything is measured, want 14", got)
	}
	for range 80 {
		sc.observe(100, 8, 0)
		sc.unscrape(7)
		p.pass(t)
		if got := sc.Allocation[0].Replicas; got < 14 {
			t.Fatalf("%d replicas with half of the pods unscraped, want 14", got)
		}
	}
	sc.observe(200, 12, 0)
	sc.unscrape(7)
	p.pass(t)
	if got := sc.Allocation[0].Replicas; got != 20 {
		t.Errorf("%d replicas for 12 cores of which 6 are measured, want 20", got)
	}
}

// TestRulesByPodRaiseOnPartialData: hpa reads the pods one by one, and counts those without a
// sample as idle when it would add replicas. It raises as for the whole load nevertheless.
func TestRulesByPodRaiseOnPartialData(t *testing.T) {
	sc := newFixture()
	sc.set(6)
	rule, err := policy.New("hpa:target=60,period=15s,down-window=0s", sc.App)
	if err != nil {
		t.Fatal(err)
	}
	p := newProcess(t, sc, guard.Defaults(), rule)
	pass := func(cores float64, missing int) int {
		t.Helper()
		sc.observe(100, cores, 0)
		for i := range sc.web().Pods {
			sc.web().Pods[i].Size.CPURequest = 1
		}
		sc.unscrape(missing)
		p.pass(t)
		return sc.Allocation[0].Replicas
	}
	for range 20 {
		if got := pass(3.4, 0); got != 6 {
			t.Fatalf("%d replicas while everything is measured, want 6", got)
		}
	}
	for range 20 {
		if got := pass(0.3, 3); got != 6 {
			t.Fatalf("%d replicas with half of the pods unscraped, want 6", got)
		}
	}
	if got := pass(5.1, 3); got != 9 {
		t.Errorf("%d replicas for 5.1 cores of which half are measured, want 9", got)
	}
}

func TestCoverage(t *testing.T) {
	pods := func(measured, missing, fresh int) *loadline.ServiceObservation {
		sc := newFixture()
		sc.set(measured + missing + fresh)
		sc.observe(100, 5, 0)
		sc.unscrape(missing)
		for i := range fresh {
			p := &sc.web().Pods[missing+i]
			p.Ready, p.CPU, p.Memory = start.Add(-30*time.Second), loadline.Sample{}, loadline.Sample{}
		}
		return sc.web()
	}
	for name, row := range map[string]struct {
		o      *loadline.ServiceObservation
		want   guard.Count
		enough bool
	}{
		"all are measured":                   {pods(4, 0, 0), guard.Count{Measured: 4, Of: 4}, true},
		"one of four is missing":             {pods(3, 1, 0), guard.Count{Measured: 3, Of: 4}, false},
		"one of ten may be missing":          {pods(9, 1, 0), guard.Count{Measured: 9, Of: 10}, true},
		"one of nine may not":                {pods(8, 1, 0), guard.Count{Measured: 8, Of: 9}, false},
		"two of ten may not":                 {pods(8, 2, 0), guard.Count{Measured: 8, Of: 10}, false},
		"a new pod is not missing":           {pods(3, 0, 2), guard.Count{Measured: 3, Of: 3}, true},
		"no pod is measured: not by pod":     {pods(0, 4, 0), guard.Count{}, true},
		"nothing is there to be measured":    {&loadline.ServiceObservation{}, guard.Count{}, true},
		"nothing is known of the service":    {nil, guard.Count{}, true},
		"most are missing: still not enough": {pods(1, 30, 0), guard.Count{Measured: 1, Of: 31}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := guard.CoverageOf(row.o, start, maxAge, 15*time.Second).CPU
			if c != row.want || c.Enough() != row.enough {
				t.Errorf("got %v (enough: %v), want %v (%v)", c, c.Enough(), row.want, row.enough)
			}
		})
	}
}

// TestIdlePodsAreNotMissing: proxies show no series before the first request.
func TestIdlePodsAreNotMissing(t *testing.T) {
	sc := newFixture()
	for i := range sc.web().Pods {
		p := &sc.web().Pods[i]
		p.Busy = sc.sample(1)
		if i >= 6 {
			p.Busy = loadline.Sample{}
		}
		if i >= 8 {
			p.CPU = sc.sample(0.01)
		}
	}
	want := guard.Count{Measured: 6, Of: 8}
	if got := guard.CoverageOf(sc.web(), start, maxAge, 0).Requests; got != want {
		t.Errorf("requests of %v pods, want %v: two work without being measured, two are idle", got, want)
	}
}

// TestPartialRateIsNotZero: a rate of zero over some of the pods does not permit zero
// replicas.
func TestPartialRateIsNotZero(t *testing.T) {
	sc, g := newFixture(), observedGuard()
	sc.set(2)
	see := func(second loadline.Sample) {
		sc.observe(0, 0.1, 0)
		sc.web().Concurrency = sc.sample(0)
		sc.web().Pods[0].Busy, sc.web().Pods[1].Busy = sc.sample(0), second
	}
	see(loadline.Sample{})
	sc.watch(g, 4*time.Minute)
	if got, why := sc.pass(g, toReplicas(0)); got == toReplicas(0) {
		t.Errorf("zero is permitted (%s) while the requests of one of two pods are not measured", why)
	}
	see(sc.sample(0))
	sc.set(2)
	sc.watch(g, 4*time.Minute)
	sc.expect(t, g, toReplicas(0), toReplicas(0), "")
}
