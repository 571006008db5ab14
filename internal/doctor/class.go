package doctor

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/resource"
)

// reserves explains why the reserve of a class is not held. Without LoadLineClasses, or
// the permission to read them, there is nothing to say.
func (e *exam) reserves(ctx context.Context) {
	var classes v1alpha1.LoadLineClassList
	if e.Reader.List(ctx, &classes) != nil {
		return
	}
	a := e.of(OfInstallation)
	for i := range classes.Items {
		class := &classes.Items[i]
		c := meta.FindStatusCondition(class.Status.Conditions, v1alpha1.ConditionReserveHeld)
		switch {
		case c == nil || c.Reason == v1alpha1.ReasonReserveOff:
		case c.Status == metav1.ConditionTrue:
			a.ok("reserve", "The reserve of class %s is held: %s.", class.Name, c.Message)
		default:
			r, known := remedies[c.Reason]
			if !known {
				r = remedy{Warning, "kubectl describe loadlineclass " + class.Name}
			}
			a.when(r.state, "reserve", r.do, "The reserve of class %s is not held (%s): %s", class.Name, c.Reason, c.Message)
		}
	}
}

// installed is the Prometheus of the installation, by the arguments of its Deployment; empty = none.
func (e *exam) installed() string {
	if e.deployment == nil {
		return ""
	}
	if given := flagOf(e.deployment, "prometheus"); len(given) > 0 {
		return given[len(given)-1]
	}
	return ""
}

// measured is a LoadLine with the Prometheus that it is measured by, its own or its
// class's; nil if it has none, which has then been reported.
func (e *exam) measured(ctx context.Context, a about, l *v1alpha1.LoadLine) *v1alpha1.LoadLine {
	var classes v1alpha1.LoadLineClassList
	if err := e.Reader.List(ctx, &classes); err != nil && (l.Spec.ClassName != "" || l.Spec.Prometheus.URL == "") {
		e.unseen(a, "class", "LoadLineClasses", err, "")
		return nil
	}
	class, err := resource.ClassOf(l, classes.Items)
	var from resource.Metering
	if err == nil {
		from, err = resource.MeteringOf(l, class, e.installed())
	}
	if err != nil {
		a.fault("class", "kubectl -n "+l.Namespace+" edit loadline "+l.Name, "Its metrics cannot be read: %v", err)
		return nil
	}
	if from.ByClass {
		a.ok("class", "It is measured by the Prometheus of its class %s.", class.Name)
	}
	l = l.DeepCopy()
	l.Spec.Prometheus = from.Source
	return l
}
