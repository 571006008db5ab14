package resource

import (
	"fmt"
	"slices"

	quantity "k8s.io/apimachinery/pkg/api/resource"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/suggest"
)

// AllRequests is the kind of request of an application without a twin whose
// objective names none.
const AllRequests = "all requests"

// mostServices is the limit of the schema.
const mostServices = 200

// build returns the application: the twin with the user's settings, or one made
// of the user's settings alone.
func (a *Application) build(l *v1alpha1.LoadLine, twin *loadline.App, f *faults) {
	defer a.checkQueues(l, f)
	if n := len(l.Spec.Services); n > mostServices {
		f.add("spec.selector: there are %d services with those that it finds, at most %d are possible: divide them over several LoadLines", n,
			mostServices)
	}
	if twin != nil {
		a.App = copyApp(twin)
		a.objectivesOfTwin(l, f)
	} else {
		a.App = &loadline.App{Name: l.Name}
		a.skeleton(l, f)
	}
	a.Targets = make([]*v1alpha1.Service, len(a.App.Services))
	a.Axes = make(guard.Axes, len(a.App.Services))
	var known []string
	for i := range a.App.Services {
		known = append(known, a.App.Services[i].Name)
	}
	for j := range l.Spec.Services {
		s, field := &l.Spec.Services[j], fmt.Sprintf("spec.services[%d]", j)
		i := a.App.ServiceIndex(s.Name)
		switch {
		case i < 0 && s.Selected: // that a workload got a label must not end all scaling
			a.LeftOut = append(a.LeftOut, s.Name)
			continue
		case i < 0:
			f.add("%s.name: the twin has no service %q%s", field, s.Name, suggest.Hint(s.Name, known))
			continue
		case a.Targets[i] != nil && s.Selected:
			f.add("spec.selector: it finds %s %s, and service %q is %s already: set the annotation %s of one of the two to the name that "+
				"the metrics have, or put it in spec.selector.except", s.TargetRef.Kind, s.TargetRef.Name, s.Name,
				a.Targets[i].TargetRef.Kind+" "+a.Targets[i].TargetRef.Name, v1alpha1.ServiceAnnotation)
			continue
		case a.Targets[i] != nil:
			f.add("%s.name: service %q occurs twice", field, s.Name)
			continue
		}
		a.Targets[i], a.Axes[i] = s, allowedAxes(s)
		f.bound(field+".bounds", &a.App.Services[i].Bounds, &s.Bounds)
		if s.Optional != nil {
			a.App.Services[i].OptionalPrice = f.price(field+".optional.price", s.Optional.Price)
			markOptional(a.App, i)
		}
		if twin == nil {
			a.App.Services[i].Replicas = max(1, a.App.Services[i].Bounds.MinReplicas)
		}
	}
}

// skeleton has the services and kinds that the user names, and no demands.
func (a *Application) skeleton(l *v1alpha1.LoadLine, f *faults) {
	for i := range l.Spec.Services {
		if name := l.Spec.Services[i].Name; a.App.ServiceIndex(name) < 0 { // duplicates are reported later
			a.App.Services = append(a.App.Services, loadline.Service{Name: name})
		}
	}
	for i := range l.Spec.Objectives {
		o, field := &l.Spec.Objectives[i], fmt.Sprintf("spec.objectives[%d]", i)
		name := o.Kind
		if isAny(o) {
			name = AllRequests
		}
		if a.App.KindIndex(name) >= 0 {
			f.add("%s.kind: %q occurs twice", field, name)
			continue
		}
		entry := 0
		if o.Service == "" && l.Spec.Selector != nil && (len(l.Spec.Services) == 0 || l.Spec.Services[0].Selected) {
			f.add("%s.service: is required with a selector and without services, of which none is the first", field)
		}
		if o.Service != "" {
			entry = a.App.ServiceIndex(o.Service)
			if entry < 0 { // the entry service need not be scaled by Loadline
				entry = len(a.App.Services)
				a.App.Services = append(a.App.Services, loadline.Service{Name: o.Service, Replicas: 1})
			}
		}
		a.App.Kinds = append(a.App.Kinds, loadline.Kind{
			Name: name, Share: 1, SLO: f.slo(field, o),
			Root: loadline.Call{Service: entry, Probability: 1, Times: 1, Work: 1},
		})
		a.Sources = append(a.Sources, sourceOf(o))
	}
	switch {
	case len(l.Spec.Services) > 0:
	case l.Spec.Selector != nil:
		f.add("spec.selector: no Deployment or StatefulSet of namespace %s has these labels", l.Namespace)
	case len(a.App.Services) == 0:
		f.add("spec.services: is empty, at least one service is required")
	}
	if len(a.App.Kinds) == 0 {
		f.add("spec.objectives: is empty, at least one objective is required")
	}
}

// objectivesOfTwin gives every kind of the twin the user's objective.
func (a *Application) objectivesOfTwin(l *v1alpha1.LoadLine, f *faults) {
	kinds := make([]string, len(a.App.Kinds))
	for k := range a.App.Kinds {
		kinds[k] = a.App.Kinds[k].Name
	}
	a.Sources = make([]Source, len(kinds))
	has := make([]bool, len(kinds))
	var rest *loadline.SLO
	for i := range l.Spec.Objectives {
		o, field := &l.Spec.Objectives[i], fmt.Sprintf("spec.objectives[%d]", i)
		slo := f.slo(field, o)
		if isAny(o) {
			rest = &slo
			continue
		}
		k := slices.Index(kinds, o.Kind)
		switch {
		case k < 0:
			f.add("%s.kind: the twin has no kind of request %q%s", field, o.Kind, suggest.Hint(o.Kind, kinds))
			continue
		case has[k]:
			f.add("%s.kind: %q occurs twice", field, o.Kind)
			continue
		}
		has[k], a.App.Kinds[k].SLO = true, slo
		a.Sources[k] = sourceOf(o)
	}
	for k := range kinds {
		switch {
		case has[k]:
		case rest != nil:
			a.App.Kinds[k].SLO = *rest
		default:
			f.add("spec.objectives: the twin's kind of request %q has none: add one, or one without a kind for all other kinds", kinds[k])
		}
	}
}

func sourceOf(o *v1alpha1.Objective) Source {
	return Source{o.Service, o.Operation, o.RecordedOverRatio}
}

// checkQueues reports objectives that ask for the operations of a queue, which has none.
func (a *Application) checkQueues(l *v1alpha1.LoadLine, f *faults) {
	for i := range l.Spec.Objectives {
		o := &l.Spec.Objectives[i]
		if o.Operation == "" {
			continue
		}
		if k := a.App.ServiceIndex(o.Service); k >= 0 && a.Targets[k] != nil && a.Targets[k].Queue != nil {
			f.add("spec.objectives[%d].operation: %q does not exist, service %s takes messages from a queue: leave operation out", i,
				o.Operation, o.Service)
		}
	}
}

func isAny(o *v1alpha1.Objective) bool { return o.Kind == "" || o.Kind == v1alpha1.AnyKind }

func (f *faults) slo(field string, o *v1alpha1.Objective) loadline.SLO {
	slo := loadline.SLO{Percentile: defaultPercentile, Latency: o.Latency.Span()}
	if o.Percentile != (v1alpha1.Number{}) {
		slo.Percentile = f.number(field+".percentile", &o.Percentile, 0)
	}
	if !(slo.Percentile > 0 && slo.Percentile < 100) {
		f.add("%s.percentile %v must be above 0 and below 100", field, slo.Percentile)
	}
	if slo.Latency <= 0 {
		f.add("%s.latency %v must be longer than 0", field, slo.Latency)
	}
	return slo
}

func (f *faults) price(field string, n v1alpha1.Number) float64 {
	if n == (v1alpha1.Number{}) {
		return 1
	}
	return f.number(field, &n, 1)
}

// bound sets the bounds that the user gives. Without bounds for CPU or memory
// those of the twin stay: the axes prevent any change.
func (f *faults) bound(field string, to *loadline.Bounds, from *v1alpha1.Bounds) {
	to.MinReplicas, to.MaxReplicas = 1, int(from.Replicas.Max)
	if from.Replicas.Min != nil {
		to.MinReplicas = int(*from.Replicas.Min)
	}
	if to.MinReplicas > to.MaxReplicas || to.MaxReplicas < 1 || to.MinReplicas < 0 {
		f.add("%s.replicas: min (%d) and max (%d) must be in this order, and max at least 1", field, to.MinReplicas, to.MaxReplicas)
	}
	if b := from.CPU; b != nil {
		to.MinCPU, to.MaxCPU = cores(b.Min), cores(b.Max)
		f.inOrder(field+".cpu", b)
	}
	if b := from.Memory; b != nil {
		to.MinMemory, to.MaxMemory = b.Min.Value(), b.Max.Value()
		f.inOrder(field+".memory", b)
	}
}

func (f *faults) inOrder(field string, b *v1alpha1.QuantityBounds) {
	if b.Min.Sign() <= 0 || b.Min.Cmp(b.Max) > 0 {
		f.add("%s: min (%s) and max (%s) must be in this order, and min above 0", field, b.Min.String(), b.Max.String())
	}
}

func cores(q quantity.Quantity) float64 { return q.AsApproximateFloat64() }

// markOptional marks every call to a service as optional.
func markOptional(app *loadline.App, service int) {
	var mark func(stages [][]loadline.Call)
	mark = func(stages [][]loadline.Call) {
		for _, calls := range stages {
			for i := range calls {
				calls[i].Optional = calls[i].Optional || calls[i].Service == service
				mark(calls[i].Stages)
			}
		}
	}
	for k := range app.Kinds {
		mark(app.Kinds[k].Root.Stages)
	}
}

// copyApp copies everything that is modified here.
func copyApp(from *loadline.App) *loadline.App {
	app := *from
	app.Services = slices.Clone(from.Services)
	app.Kinds = slices.Clone(from.Kinds)
	for k := range app.Kinds {
		app.Kinds[k].Root.Stages = copyStages(app.Kinds[k].Root.Stages)
	}
	return &app
}

func copyStages(from [][]loadline.Call) [][]loadline.Call {
	stages := slices.Clone(from)
	for i := range stages {
		stages[i] = slices.Clone(stages[i])
		for j := range stages[i] {
			stages[i][j].Stages = copyStages(stages[i][j].Stages)
		}
	}
	return stages
}
