package advice

import (
	"fmt"
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/reserve"
)

// placeholders are pods that keep room on nodes, as the simulator has them: each as large as the
// largest pod of the application, so that it makes room for any replica.
func (t Target) placeholders(held float64) []Document {
	var largest loadline.Room
	for i := range t.App.Services {
		size := &t.App.Services[i].Size
		largest.Cores, largest.Memory = max(largest.Cores, size.CPURequest), max(largest.Memory, size.MemoryRequest)
	}
	if largest.Cores <= 0 {
		largest.Cores = held
	}
	pods := int(math.Ceil(held/largest.Cores - 1e-9))
	name := t.App.Name + "-reserve"
	class := map[string]any{
		"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": map[string]any{"name": name},
		"value": reserve.Priority, "preemptionPolicy": "Never", "globalDefault": false,
		"description": "placeholder pods that give way to any other pod",
	}
	labels := map[string]any{"app.kubernetes.io/name": name}
	template := reserve.Template(labels, reserve.Image, cores(largest.Cores), bytesText(largest.Memory))
	template["spec"].(map[string]any)["priorityClassName"] = name
	return []Document{
		{
			Comments: []string{fmt.Sprintf("Reserve of %g cores: pods that keep room on the nodes and are preempted at once.", held)},
			Object:   class,
		},
		{Object: t.object("apps/v1", "Deployment", name, map[string]any{
			"replicas": pods, "selector": map[string]any{"matchLabels": labels}, "strategy": reserve.Strategy(), "template": template,
		})},
	}
}
