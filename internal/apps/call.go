package apps

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline"
)

const callWant = "a service's name, or a mapping {service or use, probability, times, work, optional, versions, timeout, retries, stages}"

// callNode is a call as written: names instead of indices, shared sub-trees not yet expanded.
type callNode struct {
	line    int
	path    string
	service string // one of the two is set, or the call is faulty
	use     string
	stages  [][]*callNode

	// Fields that are set here; a call that uses a sub-tree overrides it with these.
	probability *float64
	times       *int
	work        *float64
	optional    *bool
	versions    []versionName
	timeout     *time.Duration
	retries     *loadline.Retries
}

type versionName struct {
	name, path string
	line       int
}

// call reads one call and everything under it.
func (r *reader) call(a at) *callNode {
	n := &callNode{line: a.Line, path: a.path}
	if a.Kind == yaml.ScalarNode && !a.null() && a.Value != "" {
		n.service = a.Value
		return n
	}
	o := r.object(a, callWant, "service", "use", "probability", "times", "work", "optional", "versions",
		"timeout", "retries", "stages")
	if a.Kind != yaml.MappingNode {
		return n
	}
	n.service, n.use = o.words("service"), o.words("use")
	switch {
	case n.service == "" && n.use == "":
		r.fault(a.home(), o.path("service"), "", "the name of the called service (or \"use\" with the name of a shared sub-tree)")
	case n.service != "" && n.use != "":
		r.fault(a.Line, o.path("use"), n.use, "left out: the call names a service already")
		n.use = ""
	case n.use != "" && o.has("stages"):
		stages := o.fields["stages"]
		r.fault(stages.Line, stages.path, stages.text(), "left out: the stages are those of the sub-tree in \"use\"")
	}
	n.probability = stated(o, "probability", probability)
	n.times = stated(o, "times", countRule(1, maxTimes))
	n.work = stated(o, "work", positive)
	if o.has("optional") {
		optional := o.yes("optional")
		n.optional = &optional
	}
	n.versions = r.versionNames(o)
	n.timeout = stated(o, "timeout", positiveDuration)
	if o.has("retries") {
		retries := r.retries(o)
		n.retries = &retries
	}
	if n.use == "" {
		n.stages = r.stages(o)
	}
	return n
}

func stated[T any](o object, field string, is rule[T]) *T {
	a, ok := o.fields[field]
	if !ok {
		return nil
	}
	v := scalar(o.r, a, is)
	return &v
}

func (r *reader) versionNames(o object) []versionName {
	a, ok := o.fields["versions"]
	if !ok {
		return nil
	}
	const want = "a list of versions of the calling service"
	if a.Kind != yaml.SequenceNode || len(a.Content) == 0 {
		r.fault(a.Line, a.path, a.text(), want)
		return nil
	}
	var names []versionName
	for i, c := range a.Content {
		v := r.enter(c, fmt.Sprintf("%s[%d]", a.path, i), a.origin)
		if v.Kind != yaml.ScalarNode {
			r.fault(v.Line, v.path, v.text(), "the name of a version")
			continue
		}
		names = append(names, versionName{name: v.Value, path: v.path, line: v.Line})
	}
	return names
}

// stages reads a list whose items are calls (a stage of one) or lists of calls
// (a stage of several in parallel).
func (r *reader) stages(o object) [][]*callNode {
	a, ok := o.fields["stages"]
	if !ok {
		return nil
	}
	if a.Kind != yaml.SequenceNode {
		r.fault(a.Line, a.path, a.text(), "a list of stages, each a call or a list of calls")
		return nil
	}
	var stages [][]*callNode
	for i, c := range a.Content {
		item := r.enter(c, fmt.Sprintf("%s[%d]", a.path, i), a.origin)
		if item.Kind != yaml.SequenceNode {
			stages = append(stages, []*callNode{r.call(item)})
			continue
		}
		if len(item.Content) == 0 {
			r.fault(item.Line, item.path, "[]", "a call or a list of calls")
			continue
		}
		var parallel []*callNode
		for j, c := range item.Content {
			parallel = append(parallel, r.call(r.enter(c, fmt.Sprintf("%s[%d]", item.path, j), item.origin)))
		}
		stages = append(stages, parallel)
	}
	return stages
}

// plainCall is a call with defaults.
func plainCall(service int) loadline.Call {
	return loadline.Call{Service: service, Probability: 1, Times: 1, Work: 1}
}
