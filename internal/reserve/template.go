package reserve

const (
	// Image that placeholder pods run unless another is given: it does nothing.
	Image = "registry.k8s.io/pause:3.10"
	// Priority of placeholder pods: below that of every usual pod, which is 0, and not below -10,
	// under which Cluster Autoscaler adds no node for a pod (--expendable-pods-priority-cutoff).
	Priority = -10
)

// Template of pods that keep room on nodes: they have requests, do nothing and end at once.
func Template(labels map[string]any, image, cpu, memory string) map[string]any {
	requests := map[string]any{"cpu": cpu, "memory": memory}
	return map[string]any{
		"metadata": map[string]any{"labels": labels},
		"spec": map[string]any{
			"terminationGracePeriodSeconds": int64(0), "automountServiceAccountToken": false, "enableServiceLinks": false,
			"securityContext": map[string]any{"runAsNonRoot": true, "runAsUser": int64(65535), "runAsGroup": int64(65535),
				"seccompProfile": map[string]any{"type": "RuntimeDefault"}},
			"containers": []any{map[string]any{
				"name": "reserve", "image": image, "resources": map[string]any{"requests": requests},
				"securityContext": map[string]any{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
					"capabilities": map[string]any{"drop": []any{"ALL"}}},
			}},
		},
	}
}

// Strategy of a Deployment of placeholder pods: those of another size replace those there are, so
// that none needs a node of its own.
func Strategy() map[string]any {
	return map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(0), "maxUnavailable": "50%"}}
}
