package guard

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// Starting drops reductions of a service while some of its pods are starting: the load
// that they will carry is not known yet. A pod that has not become ready within Patience
// is considered stuck and is ignored.
type Starting struct {
	Patience time.Duration

	clock   clock
	missing []instant // by service: since when it has fewer pods than desired
}

// NewStarting for so many services.
func NewStarting(patience time.Duration, services int) *Starting {
	return &Starting{Patience: patience, missing: make([]instant, services)}
}

// Name returns the name of the guard in records.
func (*Starting) Name() string { return "starting" }

// Watch records since when pods have been missing.
func (g *Starting) Watch(now time.Time, s loadline.Situation) {
	at := g.clock.advance(now)
	for i := range g.missing {
		o := observed(s, i)
		switch {
		case o == nil:
		case alive(o) >= s.Allocation[i].Replicas:
			g.missing[i] = instant{}
		case !g.missing[i].set:
			g.missing[i].mark(at)
		}
	}
}

// alive counts the pods that are not draining.
func alive(o *loadline.ServiceObservation) int {
	n := 0
	for i := range o.Pods {
		if o.Pods[i].Phase != loadline.PodDraining {
			n++
		}
	}
	return n
}

// Check drops reductions.
func (g *Starting) Check(now time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	is := &s.InFlight[service]
	if !reduces(&want, is) {
		return want, ""
	}
	o := observed(s, service)
	if o == nil {
		return want, "" // Absent handles it
	}
	starting := 0
	for i := range o.Pods {
		p := &o.Pods[i]
		if (p.Phase == loadline.PodPending || p.Phase == loadline.PodStarting) && now.Sub(p.Created) < g.Patience {
			starting++
		}
	}
	switch {
	case is.Replicas > s.Allocation[service].Replicas:
		return withoutReductions(want, is), "not reduced: a raise is on its way"
	case starting > 0:
		return withoutReductions(want, is), fmt.Sprintf("not reduced: %d of its pods are starting", starting)
	case g.missing[service].within(g.clock.at, g.Patience):
		return withoutReductions(want, is), fmt.Sprintf("not reduced: %d of its %d pods are there", alive(o),
			s.Allocation[service].Replicas)
	}
	return want, ""
}

// Decided implements loop.Watcher.
func (*Starting) Decided(time.Time, loadline.Situation, loadline.Plan) {}
