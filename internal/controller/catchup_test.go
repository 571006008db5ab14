package controller

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/metrics/live"
)

// gauge is a Prometheus that knows every pod, now and in the past.
type gauge struct {
	cores     float64 // of each pod of web
	unscraped int     // pods of web that are not scraped
	asked     []time.Time
}

func (g *gauge) Observe(_ context.Context, now time.Time, _ [][]string, into *loadline.Observation) error {
	g.asked = append(g.asked, now)
	at := func(v float64) loadline.Sample { return loadline.Sample{Value: v, At: now} }
	for i := range into.Services {
		o := &into.Services[i]
		o.Rate, o.CPU = at(10), at(0)
		for j := range o.Pods {
			if j >= g.unscraped {
				o.Pods[j].CPU, o.Pods[j].Memory = at(g.cores), at(1<<20)
				o.CPU.Value += g.cores
			}
		}
	}
	for i := range into.Kinds {
		into.Kinds[i].Rate, into.Kinds[i].OverSLO, into.Kinds[i].AtSLO = at(10), at(0), at(0.1)
	}
	return nil
}

func (g *gauge) Report() live.Report { return live.Report{} }

// idle is a stage with nine replicas of web that hardly do anything.
func idle(t *testing.T) (*stage, *gauge, client.Client) {
	s, _ := newStage(t)
	s.now = time.Now()
	s.states[0].Replicas, s.states[0].Status, s.states[0].Pods = 9, 9, nil
	for range 9 {
		p := pod("p"+itoa(len(s.states[0].Pods)), 0.2)
		p.Created, p.Ready = s.now.Add(-time.Hour), s.now.Add(-time.Hour)
		s.states[0].Pods = append(s.states[0].Pods, p)
	}
	return s, &gauge{cores: 0.01}, server(t, s.l)
}

// process starts a controller over a stage; the function ends it.
func process(t *testing.T, s *stage, g *gauge, api client.Client) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := New(ctx, Options{Client: api, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	c.restorer = func(string) restorer { return s }
	c.open = func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
		a, err := s.open(ctx, l, latest)
		if err == nil {
			a.cluster.source = func(context.Context, time.Time) (metering, error) { return g, nil }
		}
		return a, err
	}
	if _, err := c.Reconcile(t.Context(), request(s.l)); err != nil {
		t.Fatal(err)
	}
	return func() {
		cancel()
		c.Wait()
	}
}

// TestRestartsDoNotHastenScaleIn: processes that end one after the other, on one status
// and one Prometheus, never have fewer replicas than one that goes on; and scale-in
// goes on under them, if each lasts longer than the stabilisation of the rule.
func TestRestartsDoNotHastenScaleIn(t *testing.T) {
	run := func(t *testing.T, restart int) (replicas []int) { // every so many steps; 0 = never
		synctest.Test(t, func(t *testing.T) {
			s, g, api := idle(t)
			end := process(t, s, g, api)
			for i := range 120 {
				time.Sleep(20 * time.Second)
				synctest.Wait()
				replicas = append(replicas, s.states[0].Replicas)
				if restart > 0 && i%restart == restart-1 {
					end()
					end = process(t, s, g, api)
				}
			}
			end()
		})
		return replicas
	}
	steady := run(t, 0)
	for _, every := range []int{1, 7, 20} {
		restarted := run(t, every)
		for i := range steady {
			if restarted[i] < steady[i] {
				t.Fatalf("after %d steps of 20s there are %d replicas with a restart every %d steps and %d without:\n%v\n%v", i+1,
					restarted[i], every, steady[i], restarted, steady)
			}
		}
		if last := len(steady) - 1; steady[last] > 1 || every == 20 && restarted[last] > 6 {
			t.Errorf("scale-in comes to a halt: %v without restarts, %v with one every %d steps", steady, restarted, every)
		}
	}
}

// TestTheMemoryIsStoredBeforeTheReduction: whenever the process ends, the next one
// knows what this one has done.
func TestTheMemoryIsStoredBeforeTheReduction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, api := idle(t)
		var stored v1alpha1.LoadLine
		s.scaling = func() {
			if err := api.Get(context.Background(), client.ObjectKeyFromObject(s.l), &stored); err != nil {
				t.Error(err)
			}
		}
		defer process(t, s, g, api)()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if s.states[0].Replicas == 9 {
			t.Fatal("nothing was reduced")
		}
		m := stored.Status.Services[0].Memory
		if m == nil || m.Reduced == nil || m.ScaleIn == nil || m.ScaleIn.Stage == "" || *m.ScaleIn.Before.Replicas != 9 {
			t.Errorf("when web was reduced, the stored memory of it was %+v", m)
		}
	})
}

// TestAnEditDoesNotEmptyTheWindows: a change of the spec restarts the application, and
// the guards hand on what they know.
func TestAnEditDoesNotEmptyTheWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, api := idle(t)
		g.cores = 0.09 // 45 % of the request: nothing to do
		ctx, cancel := context.WithCancel(context.Background())
		c := New(ctx, Options{Client: api, Log: slog.New(slog.DiscardHandler), Now: time.Now})
		defer func() { cancel(); c.Wait() }()
		c.restorer = func(string) restorer { return s }
		c.open = func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
			a, err := s.open(ctx, l, latest)
			if err == nil {
				a.cluster.source = func(context.Context, time.Time) (metering, error) { return g, nil }
			}
			return a, err
		}
		reconcile := func() {
			if _, err := c.Reconcile(t.Context(), request(s.l)); err != nil {
				t.Fatal(err)
			}
		}
		reconcile()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		before := len(g.asked)
		var l v1alpha1.LoadLine
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(s.l), &l); err != nil {
			t.Fatal(err)
		}
		l.Generation++
		two := int32(2)
		l.Spec.Services[0].Bounds.Replicas.Min = &two
		if err := api.Update(t.Context(), &l); err != nil {
			t.Fatal(err)
		}
		reconcile()
		synctest.Wait()
		r := c.runnerOf(request(s.l).NamespacedName)
		if r == nil {
			t.Fatal("there is no runner")
		}
		for _, at := range g.asked[before:] {
			if age := time.Since(at); age > 30*time.Second {
				t.Errorf("after an edit Prometheus was asked about %v ago: the guards should have handed that on", age)
			}
		}
	})
}

// TestPartOfThePodsIsShown: the status says how much of a service is measured.
func TestPartOfThePodsIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, api := idle(t)
		g.unscraped = 4
		defer process(t, s, g, api)()
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if s.states[0].Replicas < 9 {
			t.Errorf("%d replicas are left although 4 of 9 pods are not measured", s.states[0].Replicas)
		}
		var l v1alpha1.LoadLine
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(s.l), &l); err != nil {
			t.Fatal(err)
		}
		if got := l.Status.Services[0].Seen.MeasuredPods; got != "5/9" {
			t.Errorf("measured pods: %q, want 5/9", got)
		}
		for _, c := range l.Status.Conditions {
			if c.Type == v1alpha1.ConditionStale && (c.Status != "True" || c.Reason != v1alpha1.ReasonMetricsPartial) {
				t.Errorf("the condition Stale is %+v", c)
			}
		}
	})
}
