package simulate

import (
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// cadvisor shows what the containers of a service use: every metric of services
// that the table has a container series for. CPU and memory are counted by pod,
// the others by service: its ready pods share them evenly.
func (r *Exposition) cadvisor(service int, now *sim.ServiceReading, cp *sim.ControlPlane) {
	ready := float64(max(1, cp.Ready(service)))
	seen := &r.services[service]
	shares := now.Of
	for m := range shares {
		shares[m] = (now.Of[m] - seen.last[m]) / ready
	}
	seen.last = now.Of
	for m := range loadline.ServiceTable {
		if loadline.ServiceTable[m].Series != "" {
			r.containers(m)
		}
	}
	for _, reading := range now.Pods {
		p := cp.Pod(reading.Slot)
		if p.Phase == loadline.PodPending {
			continue // it has no container yet
		}
		pod := r.pod(service, p)
		if p.Phase == loadline.PodReady {
			for m := range shares {
				pod.share[m] += shares[m]
			}
		}
		r.container(now, &reading, p, pod, ready, r.node(cp, p))
	}
}

// containers is the family of a metric, and the suffix of its series.
func (r *Exposition) containers(m int) (f *family, suffix string) {
	row := &loadline.ServiceTable[m].Metric
	if row.Aggregation == loadline.Gauge {
		return r.family(row.Series, "gauge", containerHelp(row)), ""
	}
	name, counter := strings.CutSuffix(row.Series, "_total")
	if !counter {
		return r.family(name, "counter", containerHelp(row)), ""
	}
	return r.family(name, "counter", containerHelp(row)), "_total"
}

func containerHelp(row *loadline.Metric) string {
	text := strings.ToUpper(row.Help[:1]) + row.Help[1:]
	if row.Aggregation != loadline.Gauge {
		text = "Counter of " + row.Help
	}
	if row.Name == loadline.ServiceCPU.String() || row.Name == loadline.ServiceMemory.String() {
		return text + "."
	}
	return text + "; an even share of the service's."
}

// container shows one pod's values. The kernel counts quota periods where there is
// a limit only; a container that is starting has no memory worth the name.
func (r *Exposition) container(now *sim.ServiceReading, reading *sim.PodReading, p *sim.Pod, pod *podSeen, ready float64, node string) {
	labels := []string{"namespace", r.namespace, "pod", pod.name, "container", "app", "node", node}
	serving := p.Phase == loadline.PodReady || p.Phase == loadline.PodDraining
	for m := range loadline.ServiceTable {
		row := &loadline.ServiceTable[m]
		value, shown := pod.share[m], true
		switch metric := loadline.ServiceMetric(m); {
		case row.Series == "":
			continue
		case metric == loadline.ServiceCPU:
			value = reading.CPUSeconds
		case metric == loadline.ServiceMemory:
			value, shown = reading.MemoryBytes, serving
		case metric == loadline.ServiceQuotaPeriods, metric == loadline.ServiceThrottled:
			shown = p.Size.CPULimit > 0
		case row.Aggregation == loadline.Gauge:
			value, shown = now.Of[m]/ready, p.Phase == loadline.PodReady
		}
		if shown {
			f, suffix := r.containers(m)
			r.add(f, suffix, value, labels...)
		}
	}
}

// PodName is how the pod of a service is called, made as a Deployment's ReplicaSet
// makes it.
func PodName(service string, id int64) string {
	return replicaSet(service) + "-" + safe(uint64(id), 5)
}

// pod is what is remembered of a pod.
func (r *Exposition) pod(service int, p *sim.Pod) *podSeen {
	seen, known := r.pods[p.ID]
	if !known {
		seen = &podSeen{name: PodName(r.app.Services[service].Name, p.ID)}
		r.pods[p.ID] = seen
	}
	return seen
}

// replicaSet is the name of a deployment's only ReplicaSet.
func replicaSet(deployment string) string {
	hash := uint64(14695981039346656037)
	for _, c := range []byte(deployment) {
		hash = (hash ^ uint64(c)) * 1099511628211
	}
	return deployment + "-" + safe(hash, 10)
}

// safe writes a number with the letters that Kubernetes uses in generated
// names: no vowels, so that they spell nothing.
func safe(n uint64, length int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	text := make([]byte, length)
	for i := length - 1; i >= 0; i-- {
		text[i] = letters[n%uint64(len(letters))]
		n /= uint64(len(letters))
	}
	return string(text)
}

// node is the name of the node that a pod is on; empty = none yet.
func (r *Exposition) node(cp *sim.ControlPlane, p *sim.Pod) string {
	if p.Node < 0 || p.Node >= len(cp.Nodes()) {
		return ""
	}
	return nodeName(&cp.Nodes()[p.Node], p.Node)
}
