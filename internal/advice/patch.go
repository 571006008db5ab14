package advice

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
)

const mebibyte = 1 << 20

// Patch is a strategic-merge patch of a Deployment that gives its container a size. Only what
// differs from the size today is in it; a limit that is taken away is null.
func (t Target) Patch(service int, size loadline.Size) Document {
	s := &t.App.Services[service]
	container := map[string]any{"name": t.container(service)}
	if resources := difference(s.Size, size); len(resources) > 0 {
		container["resources"] = resources
	}
	return t.patch(service, map[string]any{
		"template": map[string]any{"spec": map[string]any{"containers": []any{container}}},
	})
}

// patch of a Deployment. Of several documents kubectl patch --patch-file would not know which is
// meant, so the comment has the whole command.
func (t Target) patch(service int, spec map[string]any) Document {
	name := t.App.Services[service].Name
	namespace := ""
	if t.Namespace != "" {
		namespace = " -n " + t.Namespace
	}
	text, _ := json.Marshal(map[string]any{"spec": spec}) // words and numbers
	return Document{
		Comments: []string{fmt.Sprintf("kubectl%s patch deployment %s -p '%s'", namespace, name, text)},
		Object:   t.object("apps/v1", "Deployment", name, spec),
	}
}

// container whose sizes are set.
func (t Target) container(service int) string {
	if t.Container != "" {
		return t.Container
	}
	return t.App.Services[service].Name
}

// difference between two sizes, as requests and limits.
func difference(from, to loadline.Size) map[string]any {
	requests, limits := map[string]any{}, map[string]any{}
	put := func(into map[string]any, resource string, changed bool, amount string, none bool) {
		switch {
		case !changed:
		case none:
			into[resource] = nil
		default:
			into[resource] = amount
		}
	}
	put(requests, "cpu", from.CPURequest != to.CPURequest, cores(to.CPURequest), to.CPURequest <= 0)
	put(requests, "memory", from.MemoryRequest != to.MemoryRequest, bytesText(to.MemoryRequest), to.MemoryRequest <= 0)
	put(limits, "cpu", from.CPULimit != to.CPULimit, cores(to.CPULimit), to.CPULimit <= 0)
	put(limits, "memory", from.MemoryLimit != to.MemoryLimit, bytesText(to.MemoryLimit), to.MemoryLimit <= 0)
	resources := map[string]any{}
	if len(requests) > 0 {
		resources["requests"] = requests
	}
	if len(limits) > 0 {
		resources["limits"] = limits
	}
	return resources
}

// amounts above zero, as a resource list.
func amounts(cpu float64, memory int64) map[string]any {
	list := map[string]any{}
	if cpu > 0 {
		list["cpu"] = cores(cpu)
	}
	if memory > 0 {
		list["memory"] = bytesText(memory)
	}
	return list
}

// cores as a quantity, in whole millicores, rounded up.
func cores(n float64) string { return strconv.Itoa(int(math.Ceil(n*1000-1e-6))) + "m" }

// bytesText as a quantity, in whole MiB, rounded up.
func bytesText(n int64) string { return strconv.FormatInt((n+mebibyte-1)/mebibyte, 10) + "Mi" }

// static sets replicas and CPU once.
func (t Target) static(v policy.Values) []Document {
	var all []Document
	for i := range t.App.Services {
		s := &t.App.Services[i]
		spec := map[string]any{}
		if n := policy.ReplicasOf(v, t.App, i); n != "" {
			replicas, _ := strconv.Atoi(n)
			spec["replicas"] = replicas
		}
		size := s.Size
		if v.IsSet("cpu") {
			size.CPURequest, size.CPULimit = v.Float("cpu"), v.Float("cpu")
		}
		if v.IsSet("limit") {
			size.CPULimit = v.Float("limit")
		}
		if size != s.Size {
			container := map[string]any{"name": t.container(i), "resources": difference(s.Size, size)}
			spec["template"] = map[string]any{"spec": map[string]any{"containers": []any{container}}}
		}
		if len(spec) > 0 {
			all = append(all, t.patch(i, spec))
		}
	}
	return all
}
