package advice

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
)

// Today is the deployment that runs, as the objects of its cluster show it.
type Today struct {
	Spec   string            // in the notation of policies
	Bounds []loadline.Bounds // by service: the application's, within those of the objects
	// LeftOut is what no policy here does, object by object: the figures of Spec are without it.
	LeftOut []string
	Notes   []string // how objects were understood
	Aside   []string // objects that concern no service of the application
}

// reading of the objects of an application.
type reading struct {
	app   *loadline.App
	today Today
	of    []serviceObjects
	// lenient: an autoscaler that is no policy here still has bounds.
	lenient bool
}

// serviceObjects are what was found of one service; nil = none.
type serviceObjects struct {
	horizontal *horizontal
	vertical   *vertical
	workload   *scaledWorkload
}

// horizontal is an autoscaler of replicas, as a rule.
type horizontal struct {
	object      *Object
	method      string   // hpa or keda
	settings    []string // of the rule, without the behaviour
	behaviour   string   // its settings, each with a comma before it
	cpu, memory bool     // it keeps a share of the requests
	least, most int
	downWindow  time.Duration // over which a reduction is stabilised
	schedules   []Schedule
}

// defaultDownWindow is the HPA's own.
const defaultDownWindow = 300 * time.Second

func downWindow(b *autoscalingv2.HorizontalPodAutoscalerBehavior) time.Duration {
	if b == nil || b.ScaleDown == nil || b.ScaleDown.StabilizationWindowSeconds == nil {
		return defaultDownWindow
	}
	return time.Duration(*b.ScaleDown.StabilizationWindowSeconds) * time.Second
}

// rule in the notation of policies; "" = no policy here does what it does.
func (h *horizontal) rule() string {
	if h.method == "" {
		return ""
	}
	return h.method + ":" + joinSettings(h.settings) + h.behaviour
}

// scaledWorkload is a target of autoscalers.
type scaledWorkload struct {
	object      *Object
	replicas    int
	cpu, memory float64 // requested by a pod; 0 = nothing
}

// ReadToday turns objects into the deployment that they are: HorizontalPodAutoscalers,
// VerticalPodAutoscalers and ScaledObjects whose targets have the names of services, and the targets
// themselves. Namespace selects objects; "" = all. The error has every fault.
func ReadToday(app *loadline.App, objects []Object, namespace string) (Today, error) {
	r := &reading{app: app, of: make([]serviceObjects, len(app.Services))}
	var faults []error
	for i := range objects {
		o := &objects[i]
		if namespace == "" || o.Namespace == "" || o.Namespace == namespace {
			faults = append(faults, r.take(o, objects))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return Today{}, err
	}
	rules := make([][]string, len(app.Services))
	scaled := false
	for i := range app.Services {
		var err error
		rules[i], err = r.rules(i)
		faults = append(faults, err)
		scaled = scaled || r.of[i].horizontal != nil || r.of[i].vertical != nil
		r.today.Bounds = append(r.today.Bounds, r.bounds(i))
	}
	if err := errors.Join(faults...); err != nil {
		return Today{}, err
	}
	if !scaled {
		return Today{}, fmt.Errorf("none of %d objects scales a service of %s (%s)", len(objects), app.Name, names(app))
	}
	r.today.Spec = policy.Join(app, rules)
	if _, err := policy.New(r.today.Spec, app); err != nil {
		return Today{}, fmt.Errorf("the objects amount to the policy %s, which cannot be run: %w", r.today.Spec, err)
	}
	return r.today, nil
}

func names(app *loadline.App) string {
	text := ""
	for i := range app.Services {
		text += ", " + app.Services[i].Name
	}
	return text[min(2, len(text)):]
}

func (r *reading) note(o *Object, format string, args ...any) {
	r.today.Notes = append(r.today.Notes, o.String()+" "+fmt.Sprintf(format, args...))
}

func (r *reading) leaveOut(o *Object, format string, args ...any) {
	r.today.LeftOut = append(r.today.LeftOut, o.String()+": "+fmt.Sprintf(format, args...))
}

// take an object to the service that it is for.
func (r *reading) take(o *Object, all []Object) error {
	switch kind := o.group() + "/" + o.Kind; kind {
	case "autoscaling/HorizontalPodAutoscaler":
		if madeByKEDA(o, all) {
			return nil // its ScaledObject says the same, and more
		}
		return r.takeHPA(o)
	case "keda.sh/ScaledObject":
		return r.takeScaledObject(o)
	case "autoscaling.k8s.io/VerticalPodAutoscaler":
		return r.takeVPA(o)
	case "apps/Deployment", "apps/StatefulSet":
		return r.takeWorkload(o)
	}
	r.today.Aside = append(r.today.Aside, o.String()+" is neither an autoscaler that is priced here nor a workload")
	return nil
}

// madeByKEDA reports whether an HPA belongs to a ScaledObject that was read too.
func madeByKEDA(hpa *Object, all []Object) bool {
	owner := metav1.GetControllerOfNoCopy(hpa)
	return owner != nil && owner.Kind == "ScaledObject" && slices.ContainsFunc(all, func(o Object) bool {
		return o.Kind == "ScaledObject" && o.Name == owner.Name && o.Namespace == hpa.Namespace
	})
}

// service that an object refers to by name; -1 = none, and the object is left aside.
func (r *reading) service(o *Object, field, kind, name string) (int, error) {
	if name == "" {
		return -1, o.faultf("spec.%s.name is missing: it must name the workload that is scaled", field)
	}
	at := r.app.ServiceIndex(name)
	if at < 0 {
		if kind == "" {
			kind = "Deployment"
		}
		what := "no service of the run"
		if r.lenient {
			what = "not there"
		}
		r.today.Aside = append(r.today.Aside, fmt.Sprintf("%s is for %s %s, which is %s", o, kind, name, what))
	}
	return at, nil
}

// setHorizontal notes the autoscaler of a service, of which there can be one.
func (r *reading) setHorizontal(service int, h *horizontal) error {
	if other := r.of[service].horizontal; other != nil {
		return h.object.faultf("%s scales the same service %s: keep one of them, or choose a namespace with --namespace", other.object,
			r.app.Services[service].Name)
	}
	if h.most < h.least || h.least < 0 {
		return h.object.faultf("at least %d replicas and at most %d: the second must not be below the first", h.least, h.most)
	}
	r.of[service].horizontal = h
	return nil
}

// takeWorkload notes the replicas and requests of a service.
func (r *reading) takeWorkload(o *Object) error {
	at := r.app.ServiceIndex(o.Name)
	if at < 0 {
		r.today.Aside = append(r.today.Aside, o.String()+" is no service of the run")
		return nil
	}
	read, err := workloadOf(o)
	if err != nil {
		return err
	}
	if other := r.of[at].workload; other != nil {
		return o.faultf("%s has the same name: choose a namespace with --namespace", other.object)
	}
	w := &scaledWorkload{object: o, replicas: read.Replicas, cpu: read.CPU, memory: float64(read.Memory)}
	r.of[at].workload = w
	size := r.app.Services[at].Size
	for _, of := range []struct {
		what        string
		is, history float64
		text        func(float64) string
	}{
		{"CPU", w.cpu, size.CPURequest, cores},
		{"memory", w.memory, float64(size.MemoryRequest), func(n float64) string { return bytesText(int64(n)) }},
	} {
		if of.is > 0 && of.history > 0 && math.Abs(of.is/of.history-1) > 0.02 {
			r.note(o, "requests %s of %s for each pod, the history shows %s: all is judged with the history's", of.text(of.is), of.what,
				of.text(of.history))
		}
	}
	return nil
}

// rules of a service, in the notation of policies.
func (r *reading) rules(service int) ([]string, error) {
	of, name := &r.of[service], r.app.Services[service].Name
	h, v := of.horizontal, of.vertical
	switch {
	case h == nil && v == nil && of.workload != nil:
		r.note(of.workload.object, "has no autoscaler: it keeps %s", loadline.DescribeReplicas(of.workload.replicas))
		return []string{fmt.Sprintf("static:replicas=%d", of.workload.replicas)}, nil
	case h == nil && v == nil:
		r.today.Notes = append(r.today.Notes, fmt.Sprintf("%s has no autoscaler among the objects: its replicas stay as they are", name))
		return nil, nil
	case v == nil:
		return []string{h.rule()}, nil
	case h == nil:
		return []string{v.rule("vpa", true)}, nil
	}
	for _, both := range []struct {
		resource string
		is       bool
	}{{"cpu", h.cpu && v.cpu}, {"memory", h.memory && v.memory}} {
		if both.is {
			return nil, v.object.faultf("it sizes %s, by the share of which %s scales: each undoes the other, so that no policy here does that; "+
				"leave %s out of its controlledResources, or write what runs as a policy (--today)", both.resource, h.object, both.resource)
		}
	}
	if h.method == "hpa" && !slices.ContainsFunc(h.settings, isFloor) {
		return []string{v.rule("hpa+vpa:"+joinSettings(h.settings), false) + h.behaviour}, nil
	}
	return []string{h.rule(), v.rule("vpa", true)}, nil
}

// bounds of a service: those of its objects. More replicas than the twin's nodes are made for are
// not simulated.
func (r *reading) bounds(service int) loadline.Bounds {
	s, of := &r.app.Services[service], &r.of[service]
	b := s.Bounds
	if h := of.horizontal; h != nil {
		b.MinReplicas, b.MaxReplicas = h.least, h.most
		if most := s.Bounds.MaxReplicas; most > 0 && h.most > most {
			b.MaxReplicas = max(most, h.least)
			r.note(h.object, "allows %d replicas: up to %d are simulated, the most that the model of the application has", h.most, b.MaxReplicas)
		}
	}
	if h := of.horizontal; h == nil && of.workload != nil && b.MaxReplicas > 0 {
		b.MaxReplicas = max(b.MaxReplicas, of.workload.replicas)
	}
	if v := of.vertical; v != nil {
		b = v.within(b)
	}
	return b
}

// takeHPA reads a HorizontalPodAutoscaler.
func (r *reading) takeHPA(o *Object) error {
	h, err := hpaOf(o)
	if err != nil {
		return err
	}
	ref := h.Spec.ScaleTargetRef
	at, err := r.service(o, "scaleTargetRef", ref.Kind, ref.Name)
	if at < 0 {
		return err
	}
	found := &horizontal{object: o, method: "hpa", behaviour: behaviourSettings(h.Spec.Behavior), least: 1, most: int(h.Spec.MaxReplicas),
		downWindow: downWindow(h.Spec.Behavior)}
	if h.Spec.MinReplicas != nil {
		found.least = int(*h.Spec.MinReplicas)
	}
	metrics, err := r.hpaMetrics(o, h.Spec.Metrics, &r.app.Services[at])
	if err != nil && r.lenient {
		r.leaveOut(o, "its metrics (%s): no policy here scales by them", metricNames(h.Spec.Metrics))
		found.method = ""
		return r.setHorizontal(at, found)
	}
	if err != nil {
		return err
	}
	found.method, found.settings = metrics.rule()
	found.cpu, found.memory = metrics.cpu > 0, metrics.memory > 0
	return r.setHorizontal(at, found)
}

// hpaOf decodes a HorizontalPodAutoscaler of version v2 or v1.
func hpaOf(o *Object) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	h := &autoscalingv2.HorizontalPodAutoscaler{}
	switch o.APIVersion {
	case "autoscaling/v2", "autoscaling/v2beta2": // of the same form
	case "autoscaling/v1":
		var old struct {
			Spec struct {
				Target *int32 `json:"targetCPUUtilizationPercentage"`
			} `json:"spec"`
		}
		if err := o.Into(&old); err != nil {
			return nil, err
		}
		if old.Spec.Target != nil {
			h.Spec.Metrics = []autoscalingv2.MetricSpec{cpuUtilization(*old.Spec.Target)}
		}
	default:
		return nil, o.faultf("apiVersion is %q, must be autoscaling/v2: write it with kubectl get hpa.v2.autoscaling -o yaml", o.APIVersion)
	}
	if err := o.Into(h); err != nil {
		return nil, err
	}
	if len(h.Spec.Metrics) == 0 {
		h.Spec.Metrics = []autoscalingv2.MetricSpec{cpuUtilization(80)} // the API server's default
	}
	return h, nil
}
