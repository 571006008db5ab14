package advice

import (
	"fmt"
	"math"
)

// placeholderPriority is below that of every usual pod, which is 0, and not below -10, under which
// Cluster Autoscaler adds no node for a pod.
const placeholderPriority = -5

// placeholders are pods that keep room on nodes: they request CPU, use none, and give way to any
// other pod at once. Their size is the largest CPU request of a service, so that each makes room for
// a replica.
func (t Target) placeholders(reserve float64) []Document {
	size := 0.0
	for i := range t.App.Services {
		size = max(size, t.App.Services[i].Size.CPURequest)
	}
	if size <= 0 || size > reserve {
		size = reserve
	}
	name := t.App.Name + "-reserve"
	class := map[string]any{
		"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": map[string]any{"name": name},
		"value": placeholderPriority, "globalDefault": false, "description": "placeholder pods that give way to any other pod",
	}
	labels := map[string]any{"app.kubernetes.io/name": name}
	return []Document{
		{
			Comments: []string{fmt.Sprintf("Reserve of %g cores: pods that keep room on the nodes and are preempted at once.", reserve)},
			Object:   class,
		},
		{Object: t.object("apps/v1", "Deployment", name, map[string]any{
			"replicas": int(math.Ceil(reserve/size - 1e-9)),
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{
					"priorityClassName": name, "terminationGracePeriodSeconds": 0,
					"containers": []any{map[string]any{
						"name": "pause", "image": "registry.k8s.io/pause:3.10",
						"resources": map[string]any{"requests": map[string]any{"cpu": cores(size)}},
					}},
				},
			},
		})},
	}
}
