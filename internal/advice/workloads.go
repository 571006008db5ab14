package advice

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loadline/loadline"
)

// Workload is a Deployment or a StatefulSet with what scales it today.
type Workload struct {
	Object   *Object
	Replicas int
	CPU      float64 // cores that a pod requests; 0 = none
	Memory   int64   // bytes that a pod requests; 0 = none
	// Single: its pods cannot run side by side, or replace each other one by one (strategy Recreate).
	Single bool

	Horizontal *Horizontal // nil = none
	Vertical   *Vertical   // nil = none that changes pods
	Fault      error       // of an autoscaler that cannot be read
}

// Horizontal is an autoscaler of replicas.
type Horizontal struct {
	Object     *Object
	Rule       string // in the notation of policies; "" = no policy does the same
	Min, Max   int
	DownWindow time.Duration // over which it stabilises reductions
	Schedules  []Schedule
}

// Schedule is least replicas by the clock, as KEDA's cron trigger has it.
type Schedule struct {
	Start, End string // cron, five fields
	TimeZone   string
	Replicas   int
}

// Vertical is an autoscaler of sizes.
type Vertical struct {
	Object      *Object
	CPU, Memory bool // that it sizes
	Min, Max    corev1.ResourceList
}

// Workloads are those of a namespace, by name, and what was noted about their autoscalers.
type Workloads struct {
	All     []Workload
	LeftOut []string // settings of autoscalers that have no counterpart here
	Notes   []string // how objects were understood
	Aside   []string // autoscalers of workloads that are not among the objects
}

// ReadWorkloads finds the workloads among objects and joins them with their autoscalers. Unlike
// ReadToday it needs no model of an application, and an autoscaler that is no policy here has
// bounds all the same.
func ReadWorkloads(objects []Object) (Workloads, error) {
	r := &reading{app: &loadline.App{}, lenient: true}
	var found Workloads
	for i := range objects {
		o := &objects[i]
		if kind := o.group() + "/" + o.Kind; kind != "apps/Deployment" && kind != "apps/StatefulSet" {
			continue
		}
		w, err := workloadOf(o)
		if err != nil {
			return Workloads{}, err
		}
		if r.app.ServiceIndex(o.Name) >= 0 {
			found.Aside = append(found.Aside, o.String()+" has the name of another workload, and a name must be one service's alone")
			continue
		}
		r.app.Services = append(r.app.Services, loadline.Service{Name: o.Name,
			Size: loadline.Size{CPURequest: w.CPU, MemoryRequest: w.Memory}})
		found.All = append(found.All, w)
	}
	r.of = make([]serviceObjects, len(found.All))
	for i := range objects {
		o := &objects[i]
		if o.group() == "apps" {
			continue
		}
		before := slices.Clone(r.of)
		if err := r.take(o, objects); err != nil {
			if at := r.targetOf(o); at >= 0 {
				found.All[at].Fault = err
			} else {
				r.today.Aside = append(r.today.Aside, err.Error())
			}
			r.of = before
		}
	}
	for i := range found.All {
		w := &found.All[i]
		if h := r.of[i].horizontal; h != nil {
			w.Horizontal = &Horizontal{Object: h.object, Rule: h.rule(), Min: h.least, Max: h.most, DownWindow: h.downWindow,
				Schedules: h.schedules}
		}
		if v := r.of[i].vertical; v != nil {
			w.Vertical = &Vertical{Object: v.object, CPU: v.cpu, Memory: v.memory, Min: v.least, Max: v.most}
		}
	}
	found.LeftOut, found.Notes = r.today.LeftOut, r.today.Notes
	found.Aside = append(found.Aside, r.today.Aside...)
	slices.SortFunc(found.All, func(a, b Workload) int { return strings.Compare(a.Object.Name, b.Object.Name) })
	return found, nil
}

// targetOf is the workload that an autoscaler refers to; -1 = none.
func (r *reading) targetOf(o *Object) int {
	var refs struct {
		Spec struct {
			Horizontal struct{ Name string } `json:"scaleTargetRef"`
			Vertical   struct{ Name string } `json:"targetRef"`
		} `json:"spec"`
	}
	if o.Into(&refs) != nil {
		return -1
	}
	name := refs.Spec.Horizontal.Name
	if name == "" {
		name = refs.Spec.Vertical.Name
	}
	return r.app.ServiceIndex(name)
}

func workloadOf(o *Object) (Workload, error) {
	var d appsv1.Deployment // a StatefulSet has these fields too
	if err := o.Into(&d); err != nil {
		return Workload{}, err
	}
	w := Workload{Object: o, Replicas: 1, Single: d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType}
	if d.Spec.Replicas != nil {
		w.Replicas = int(*d.Spec.Replicas)
	}
	for i := range d.Spec.Template.Spec.Containers {
		requests := d.Spec.Template.Spec.Containers[i].Resources.Requests
		w.CPU += requests.Cpu().AsApproximateFloat64()
		w.Memory += requests.Memory().Value()
	}
	return w, nil
}
