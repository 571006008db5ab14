package apps

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline"
)

func (r *reader) services(top object) []loadline.Service {
	const want = "a mapping from names to services, at least one"
	a, ok := top.need("services", want)
	if !ok {
		return nil
	}
	list := r.entries(a, want)
	if a.Kind == yaml.MappingNode && len(a.Content) == 0 {
		r.fault(a.Line, a.path, "{}", want)
	}
	var services []loadline.Service
	for _, e := range list {
		services = append(services, r.service(e))
	}
	return services
}

func (r *reader) service(e entry) loadline.Service {
	o := r.object(e.at, "a mapping that describes a service",
		"cpu", "wait", "idle", "workers", "backlog", "hold", "memory", "startup", "startupCPU",
		"replicas", "size", "bounds", "versions", "optionalPrice", "retryBudget", "contention")
	s := loadline.Service{Name: e.key}
	s.CPU = r.dist(o, "cpu", positiveDuration, 1)
	if o.has("wait") {
		s.Wait = r.dist(o, "wait", anyDuration, 1)
	} else {
		r.defaulted(o.path("wait"), time.Duration(0))
	}
	s.IdleCPU = orDefault(o, "idle", anyCores, 0)
	s.Workers = need(o, "workers", countRule(1, maxCount))
	s.Backlog = orDefault(o, "backlog", countRule(0, maxCount), min(10*s.Workers, maxCount))
	s.Hold = orNone(o, "hold", countRule(0, maxCount), 0)
	s.Memory = r.memory(o)
	s.Startup = r.dist(o, "startup", anyDuration, 0.2)
	s.StartupCPU = orNone(o, "startupCPU", anyCores, 0)
	s.Contention = orNone(o, "contention", share, 0)
	s.Bounds = r.bounds(o)
	s.Replicas = orDefault(o, "replicas", countRule(0, maxPods), s.Bounds.MinReplicas)
	s.Size = r.size(o)
	s.Versions = r.versions(o)
	s.OptionalPrice = orDefault(o, "optionalPrice", nonNegative, 1)
	s.RetryBudget = orNone(o, "retryBudget", share, 0)
	r.checkService(o, &s)
	return s
}

// dist reads a distribution: a mapping, or a plain duration as its mean.
func (r *reader) dist(o object, field string, mean rule[time.Duration], cv float64) loadline.Dist {
	a, ok := o.need(field, "a mapping {mean, cv, shape} or "+mean.want)
	if !ok {
		return loadline.Dist{}
	}
	if a.Kind == yaml.ScalarNode {
		d := loadline.Dist{Mean: scalar(r, a, mean), CV: cv}
		r.defaulted(a.path+".cv", cv)
		return d
	}
	do := r.object(a, "a mapping {mean, cv, shape} or "+mean.want, "mean", "cv", "shape")
	d := loadline.Dist{Mean: need(do, "mean", mean), Shape: loadline.Shape(do.choice("shape", shapes...))}
	if d.Shape == loadline.Exponential {
		// A plain duration has no variation: nothing is defaulted.
		if d.CV = orNone(do, "cv", variation, 1); d.CV != 1 {
			cv := do.fields["cv"]
			r.fault(cv.Line, cv.path, cv.text(), "1 or left out, as the shape is exponential")
		}
		return d
	}
	d.CV = orDefault(do, "cv", variation, cv)
	return d
}

var shapes = []string{loadline.Lognormal: "lognormal", loadline.Exponential: "exponential"}

func (r *reader) memory(o object) loadline.Memory {
	const want = "a mapping {base, perRequest}"
	a, ok := o.need("memory", want)
	if !ok {
		return loadline.Memory{}
	}
	m := r.object(a, want, "base", "perRequest")
	return loadline.Memory{Base: need(m, "base", anyMemory), PerRequest: orDefault(m, "perRequest", anyMemory, 0)}
}

func (r *reader) size(o object) loadline.Size {
	const want, pair = "a mapping {cpu: {request, limit}, memory: {request, limit}}", "a mapping {request, limit}"
	var s loadline.Size
	a, ok := o.need("size", want)
	if !ok {
		return s
	}
	so := r.object(a, want, "cpu", "memory")
	if c, ok := so.need("cpu", pair); ok {
		co := r.object(c, pair, "request", "limit")
		s.CPURequest = need(co, "request", positiveCores)
		s.CPULimit = orNone(co, "limit", positiveCores, 0)
		if s.CPULimit > 0 && s.CPURequest > s.CPULimit {
			r.fault(co.fields["request"].Line, co.path("request"), co.fields["request"].Value,
				"at most the limit, "+co.fields["limit"].Value)
		}
	}
	if m, ok := so.need("memory", pair); ok {
		mo := r.object(m, pair, "request", "limit")
		s.MemoryRequest = need(mo, "request", positiveMemory)
		s.MemoryLimit = orNone(mo, "limit", positiveMemory, 0)
		if s.MemoryLimit > 0 && s.MemoryRequest > s.MemoryLimit {
			r.fault(mo.fields["request"].Line, mo.path("request"), mo.fields["request"].Value,
				"at most the limit, "+mo.fields["limit"].Value)
		}
	}
	return s
}

func (r *reader) bounds(o object) loadline.Bounds {
	const want = "a mapping {replicas: [least, most], cpu: [least, most], memory: [least, most]}"
	var b loadline.Bounds
	a, ok := o.need("bounds", want)
	if !ok {
		return b
	}
	bo := r.object(a, want, "replicas", "cpu", "memory")
	found := len(r.faults)
	b.MinReplicas, b.MaxReplicas = span(bo, "replicas", countRule(0, maxPods))
	if bo.has("replicas") && b.MaxReplicas == 0 && len(r.faults) == found {
		r.fault(bo.fields["replicas"].Line, bo.path("replicas"), "[0, 0]", "a pair whose most is at least 1")
	}
	b.MinCPU, b.MaxCPU = span(bo, "cpu", positiveCores)
	b.MinMemory, b.MaxMemory = span(bo, "memory", positiveMemory)
	return b
}

func (r *reader) versions(o object) []loadline.Version {
	a, ok := o.fields["versions"]
	if !ok {
		return nil
	}
	var versions []loadline.Version
	total, sound := 0.0, true
	for _, e := range r.entries(a, "a mapping from names to {weight, cpu, wait}") {
		found := len(r.faults)
		vo := r.object(e.at, "a mapping {weight, cpu, wait}", "weight", "cpu", "wait")
		v := loadline.Version{
			Name:   e.key,
			Weight: need(vo, "weight", nonNegative),
			CPU:    orNone(vo, "cpu", positive, 1),
			Wait:   orNone(vo, "wait", nonNegative, 1),
		}
		total += v.Weight
		sound = sound && len(r.faults) == found
		versions = append(versions, v)
	}
	if sound && len(versions) > 0 && total == 0 {
		r.fault(a.home(), a.path, "all of weight 0", "versions of which one at least has a weight above 0")
	}
	return versions
}

// checkService checks a service's fields against each other. A faulty field reads as zero and
// is skipped.
func (r *reader) checkService(o object, s *loadline.Service) {
	b := s.Bounds
	if a, ok := o.fields["replicas"]; ok && b.MaxReplicas > 0 && (s.Replicas < b.MinReplicas || s.Replicas > b.MaxReplicas) {
		r.fault(a.Line, a.path, a.text(), fmt.Sprintf("within the bounds [%d, %d]", b.MinReplicas, b.MaxReplicas))
	}
	size, ok := o.fields["size"]
	if !ok || size.Kind != yaml.MappingNode {
		return
	}
	outside := func(resource, field string, is bool, least, most string) {
		if !is {
			return
		}
		a := find(size, resource, field)
		r.fault(a.Line, size.path+"."+resource+"."+field, a.Value, fmt.Sprintf("within the bounds [%s, %s]", least, most))
	}
	cpu := func(x float64) bool { return b.MaxCPU > 0 && x > 0 && (x < b.MinCPU || x > b.MaxCPU) }
	outside("cpu", "request", cpu(s.Size.CPURequest), formatCores(b.MinCPU), formatCores(b.MaxCPU))
	outside("cpu", "limit", cpu(s.Size.CPULimit), formatCores(b.MinCPU), formatCores(b.MaxCPU))
	memory := func(x int64) bool { return b.MaxMemory > 0 && x > 0 && (x < b.MinMemory || x > b.MaxMemory) }
	outside("memory", "request", memory(s.Size.MemoryRequest), formatMemory(b.MinMemory), formatMemory(b.MaxMemory))
	outside("memory", "limit", memory(s.Size.MemoryLimit), formatMemory(b.MinMemory), formatMemory(b.MaxMemory))
	if s.Size.MemoryLimit > 0 && s.Memory.Base > s.Size.MemoryLimit {
		base := find(o.fields["memory"], "base")
		r.fault(base.Line, o.path("memory.base"), base.Value,
			"at most the memory limit, "+formatMemory(s.Size.MemoryLimit)+", or a replica is killed before its first request")
	}
}

// find follows keys into nested mappings that were read already.
func find(a at, keys ...string) *yaml.Node {
	n := a.Node
next:
	for _, key := range keys {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				n = n.Content[i+1]
				continue next
			}
		}
	}
	return n
}
