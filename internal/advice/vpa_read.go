package advice

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/loadline/loadline"
)

// vertical is a VerticalPodAutoscaler that changes pods.
type vertical struct {
	object      *Object
	cpu, memory bool // that it sizes
	inPlace     bool // it never evicts
	least, most corev1.ResourceList
}

// rule is a policy with the settings of the autoscaler; cpu is whether the policy sizes it by
// default.
func (v *vertical) rule(policy string, cpu bool) string {
	var settings []string
	add := func(is bool, text string) {
		if is {
			settings = append(settings, text)
		}
	}
	add(v.cpu && !cpu, "cpu=on")
	add(!v.cpu && cpu, "cpu=off")
	add(!v.memory, "memory=off")
	add(v.inPlace, "update=in-place")
	switch {
	case len(settings) == 0:
		return policy
	case policy == "vpa":
		return policy + ":" + joinSettings(settings)
	}
	return policy + "," + joinSettings(settings)
}

// within are bounds with those of the autoscaler, where it has some.
func (v *vertical) within(b loadline.Bounds) loadline.Bounds {
	for _, of := range []struct {
		list   corev1.ResourceList
		cpu    *float64
		memory *int64
	}{{v.least, &b.MinCPU, &b.MinMemory}, {v.most, &b.MaxCPU, &b.MaxMemory}} {
		if q := amount(of.list, corev1.ResourceCPU); q != nil {
			*of.cpu = q.AsApproximateFloat64()
		}
		if q := amount(of.list, corev1.ResourceMemory); q != nil {
			*of.memory = q.Value()
		}
	}
	return b
}

func amount(list corev1.ResourceList, name corev1.ResourceName) *resource.Quantity {
	if q, given := list[name]; given {
		return &q
	}
	return nil
}

// verticalPodAutoscaler has the fields that matter here.
type verticalPodAutoscaler struct {
	Spec struct {
		TargetRef    struct{ Kind, Name string } `json:"targetRef"`
		UpdatePolicy struct {
			UpdateMode string `json:"updateMode"`
		} `json:"updatePolicy"`
		ResourcePolicy struct {
			ContainerPolicies []containerPolicy `json:"containerPolicies"`
		} `json:"resourcePolicy"`
	} `json:"spec"`
}

type containerPolicy struct {
	ContainerName       string                 `json:"containerName"`
	Mode                string                 `json:"mode"`
	ControlledResources *[]corev1.ResourceName `json:"controlledResources"`
	ControlledValues    string                 `json:"controlledValues"`
	MinAllowed          corev1.ResourceList    `json:"minAllowed"`
	MaxAllowed          corev1.ResourceList    `json:"maxAllowed"`
}

// takeVPA reads a VerticalPodAutoscaler.
func (r *reading) takeVPA(o *Object) error {
	var of verticalPodAutoscaler
	if err := o.Into(&of); err != nil {
		return err
	}
	at, err := r.service(o, "targetRef", of.Spec.TargetRef.Kind, of.Spec.TargetRef.Name)
	if at < 0 {
		return err
	}
	name := r.app.Services[at].Name
	v := &vertical{object: o}
	switch mode := of.Spec.UpdatePolicy.UpdateMode; mode {
	case "Off":
		r.note(o, "only recommends (updateMode Off): it changes nothing")
		return nil
	case "Initial":
		r.leaveOut(o, "updateMode Initial, which sizes new pods only")
		return nil
	case "InPlace":
		v.inPlace = true
	case "InPlaceOrRecreate":
	case "", "Auto", "Recreate":
		r.note(o, "evicts pods to size them: resizes in place stand in for that, and evictions where a node has no room")
	default:
		return o.faultf("spec.updatePolicy.updateMode is %q, must be Off, Initial, Recreate, InPlaceOrRecreate, InPlace or Auto", mode)
	}
	p := policyOf(of.Spec.ResourcePolicy.ContainerPolicies, name)
	if p.Mode == "Off" {
		r.note(o, "has mode Off for container %s: it changes nothing", p.ContainerName)
		return nil
	}
	if p.ControlledValues == "RequestsOnly" {
		r.leaveOut(o, "controlledValues RequestsOnly: limits follow requests in proportion here")
	}
	v.cpu, v.memory = true, true
	if p.ControlledResources != nil {
		v.cpu = slices.Contains(*p.ControlledResources, corev1.ResourceCPU)
		v.memory = slices.Contains(*p.ControlledResources, corev1.ResourceMemory)
	}
	if !v.cpu && !v.memory {
		r.note(o, "controls neither CPU nor memory: it changes nothing")
		return nil
	}
	v.least, v.most = p.MinAllowed, p.MaxAllowed
	if other := r.of[at].vertical; other != nil {
		return o.faultf("%s sizes the same service %s: keep one of them, or choose a namespace with --namespace", other.object, name)
	}
	r.of[at].vertical = v
	return nil
}

// policyOf the container of a service: the one of its name, else the first that is not off, else
// that for all others (*).
func policyOf(all []containerPolicy, service string) containerPolicy {
	for _, fits := range []func(containerPolicy) bool{
		func(p containerPolicy) bool { return p.ContainerName == service },
		func(p containerPolicy) bool { return p.ContainerName != "*" && p.Mode != "Off" },
		func(p containerPolicy) bool { return p.ContainerName == "*" },
	} {
		if i := slices.IndexFunc(all, fits); i >= 0 {
			return all[i]
		}
	}
	return containerPolicy{}
}
