package simulate

import (
	"context"
	"time"

	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim"
)

// Session is a run that is advanced bit by bit. Between the bits the cluster can be looked at and
// disturbed. In how many bits it is advanced does not change it.
type Session struct {
	spec    Spec
	engine  sim.Engine
	cluster *sim.Cluster
	joint   *loop.Joint
	out     *Outcome
	closed  bool
}

// Open prepares a run. Spec.Duration is the longest that it can be advanced to.
func Open(s Spec) (*Session, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	tenants, err := s.tenants()
	if err != nil {
		return nil, err
	}
	out := &Outcome{Deployed: deployedNeeds(tenants)}
	s = s.perturbed()
	engine := newEngine(s.Engine, sim.Config{
		Reserve: out.Deployed.Reserve, RecreateAfter: out.Deployed.RecreateAfter,
		App: s.App, Load: s.Load, Seed: s.Seed, CPU: s.CPU, WarmUp: s.WarmUp,
		Cluster: s.Cluster, StartupFactor: s.Perturb.SlowStart, ResizeRestarts: s.Perturb.ResizeRestarts, Disturbances: s.Perturb.Disturbances,
	})
	cluster := sim.NewCluster(s.App, engine, s.metrics(tenants[0]), s.Seed)
	out.Timeline = newTimeline(s.App, s.Duration)
	cluster.OnScrape(func(r *sim.Reading) {
		out.Timeline.watch(r, engine.ControlPlane())
		if s.Hooks.Scrape != nil {
			s.Hooks.Scrape(r, engine.ControlPlane())
		}
		if s.Hooks.Progress != nil {
			s.Hooks.Progress(r.At)
		}
	})
	loops := make([]*loop.Loop, len(tenants))
	for i, t := range tenants {
		loops[i] = s.loop(t, cluster, out)
	}
	joint, err := loop.Join(loops, s.jointReserve(tenants, cluster)...)
	if err != nil {
		return nil, err
	}
	return &Session{spec: s, engine: engine, cluster: cluster, joint: joint, out: out}, nil
}

// AdvanceTo simulates until an instant, at most to Spec.Duration. It ends early with the context's
// error.
func (s *Session) AdvanceTo(ctx context.Context, at time.Duration) error {
	return s.joint.Until(ctx, sim.Time(min(at, s.spec.Duration)))
}

// At is the instant that was reached.
func (s *Session) At() time.Duration { return sim.Since(s.cluster.Now()) }

// Disturb makes a disturbance happen now.
func (s *Session) Disturb(d sim.Disturbance) { s.engine.Disturb(d) }

// StopMetrics stops or starts the metrics system.
func (s *Session) StopMetrics(stopped bool) { s.cluster.StopMetrics(stopped) }

// ControlPlane has the nodes, the pods and the allocations; to be read only.
func (s *Session) ControlPlane() *sim.ControlPlane { return s.engine.ControlPlane() }

// Meter is what was measured so far; to be read only.
func (s *Session) Meter() *sim.Meter { return s.engine.Meter() }

// Close records the plans that will not be applied. Finish does so too.
func (s *Session) Close() {
	if !s.closed {
		s.closed = true
		s.joint.End()
	}
}

// Finish ends the run where it is, and returns its outcome.
func (s *Session) Finish() *Outcome {
	s.Close()
	s.engine.Finish()
	s.out.Meter = s.engine.Meter()
	s.out.Result = result.Of(result.Run{
		Policy: s.spec.title(), App: s.spec.App.Name, Workload: s.spec.Workload, Engine: s.spec.Engine, Seed: s.spec.Seed, Duration: s.At(),
		Cluster: s.spec.Cluster.String(), Currency: s.spec.Cluster.Prices.WithDefaults().Currency, Prices: s.spec.Cluster.Prices,
	}, s.spec.App, s.out.Meter)
	return s.out
}
