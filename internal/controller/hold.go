package controller

import (
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

// hold is the reason why a service must not be changed now. A service with the zero
// hold may be changed.
type hold struct {
	state v1alpha1.ServiceState
	why   string
}

func (s hold) held() bool { return s.why != "" }

// holdGuard is a guard that drops changes to services that are on hold. It is both the
// first and the last guard: the others see its result, and none can override it.
type holdGuard struct{ cluster *cluster }

// Name returns the name of the guard in records.
func (holdGuard) Name() string { return "hold" }

// Check empties the setting of a service that is on hold.
func (g holdGuard) Check(_ time.Time, _ loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	if s := g.cluster.holds[service]; s.held() && !want.Empty() {
		return loadline.Setting{}, s.why
	}
	return want, ""
}
