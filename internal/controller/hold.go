package controller

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

// hold is the reason why a service must not be changed now. A service with the zero
// hold may be changed.
type hold struct {
	state  v1alpha1.ServiceState
	why    string
	raises bool // replicas may be added while the SLO burns: standing still must not cost the users
	adding bool // they are, in this pass
}

func (s hold) held() bool { return s.why != "" }

// holdGuard is a guard that drops changes to services that are on hold. It is both the
// first and the last guard: the others see its result, and none can override it.
type holdGuard struct {
	cluster *cluster
	burns   func() bool // whether the SLO burns
}

// Name returns the name of the guard in records.
func (holdGuard) Name() string { return "hold" }

// Check empties the setting of a service that is on hold, except for replicas that may
// be added.
func (g holdGuard) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	h := &g.cluster.holds[service]
	if !h.held() || want.Empty() {
		return want, ""
	}
	if more := addingReplicas(s.InFlight[service], want); h.raises && !more.Empty() && g.burns() {
		h.adding = true
		if more == want {
			return want, ""
		}
		return more, h.why + "; replicas are added nevertheless, because the SLO burns"
	}
	return loadline.Setting{}, h.why
}

// addingReplicas is the part of a setting that adds replicas.
func addingReplicas(is loadline.Allocation, set loadline.Setting) loadline.Setting {
	if is.Brownout || !set.Replicas.Set || set.Replicas.Value <= is.Replicas {
		return loadline.Setting{}
	}
	return loadline.Setting{Replicas: set.Replicas}
}
