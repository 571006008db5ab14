package policy

import (
	"fmt"
	"math"
	"strconv"

	"github.com/loadline/loadline"
)

// hpaMetric is one metric that the autoscaler keeps near a target.
type hpaMetric struct {
	source hpaSource
	target float64 // resources: % of the request; others: units per pod
	hold   toleranceBand
	sample loadline.Sample // of sourceQuery: the answer
}

// hpaSource is the source of a metric, which determines its calculation.
type hpaSource int

const (
	sourceCPU         hpaSource = iota // Resource, Utilization
	sourceMemory                       // Resource, Utilization
	sourceConcurrency                  // Pods, AverageValue: visits in each pod
	sourceRate                         // External, AverageValue: visits per second to the service
	sourceQuery                        // External, AverageValue: requests per second, as a query answers
	sourceQueue                        // External, AverageValue: messages that are not finished, as KEDA reads a queue
)

func (s hpaSource) String() string {
	return [...]string{"CPU", "memory", "concurrency", "rate", "query", "queue"}[s]
}

// replicas that this metric requires.
func (m hpaMetric) replicas(current int, seen *loadline.ServiceObservation, view podView) (int, string, error) {
	switch m.source {
	case sourceRate:
		return m.externalReplicas(seen.Rate, seen.Pods)
	case sourceQueue:
		return m.externalReplicas(inQueue(seen), seen.Pods)
	case sourceQuery:
		return m.externalReplicas(m.sample, seen.Pods)
	}
	return m.podReplicas(current, seen.Pods, view)
}

// externalReplicas is ceil(value / target), independent of the pods: an external metric is of
// none of them. The tolerance is relative to the present pods, so with many of them one more is
// never requested.
func (m hpaMetric) externalReplicas(value loadline.Sample, pods []loadline.PodObservation) (int, string, error) {
	if !value.Present() {
		return 0, "", fmt.Errorf("%w: no sample of the %s", loadline.ErrNoData, m.source)
	}
	there := 0
	for i := range pods {
		if pods[i].Phase != loadline.PodDraining {
			there++
		}
	}
	unit := "req/s"
	if m.source == sourceQueue {
		unit = "messages"
	}
	used := fmt.Sprintf("%.1f %s, target %.4g per pod", value.Value, unit, m.target)
	if there > 0 && m.hold.covers(math.Round(1000*value.Value)/(math.Round(1000*m.target)*float64(there))) {
		return there, used + ": within tolerance", nil
	}
	// In thousandths, as in the controller: an exact multiple of the target stays exact.
	desired := int(math.Ceil(math.Round(1000*value.Value) / math.Round(1000*m.target)))
	return desired, used + ": " + loadline.DescribeReplicas(desired), nil
}

// inQueue is the length of a service's queue: what is not finished, or else what waits.
func inQueue(seen *loadline.ServiceObservation) loadline.Sample {
	if seen.Concurrency.Present() {
		return seen.Concurrency
	}
	return seen.Queue
}

// read returns a pod's sample and its full usage: the request, or for a metric with an average
// value the target itself.
func (m hpaMetric) read(pod *loadline.PodObservation) (sample loadline.Sample, full float64) {
	switch m.source {
	case sourceMemory:
		return pod.Memory, float64(pod.Size.MemoryRequest)
	case sourceConcurrency:
		return pod.Busy, m.target
	}
	return pod.CPU, pod.Size.CPURequest
}

// ratio of usage to target. The controller calculates utilisation in whole percents, and
// average values in thousandths, which is finer than matters.
func (m hpaMetric) ratio(g podGroup) float64 {
	if m.source == sourceConcurrency {
		return g.usage / g.request
	}
	return math.Floor(100*g.usage/g.request+1e-9) / m.target
}

// missingShare is the assumed usage, as a share of full usage, of a pod without a sample in a
// scale-down.
func (m hpaMetric) missingShare() float64 {
	if m.source == sourceConcurrency {
		return 1
	}
	return math.Max(100, m.target) / 100
}

func (m hpaMetric) describe(g podGroup) string {
	if m.source == sourceConcurrency {
		return fmt.Sprintf("%.1f requests in each of %s, target %g", g.usage/float64(g.pods), podsText(g.pods), m.target)
	}
	return fmt.Sprintf("%s at %.0f %% of the request in %s, target %g %%", m.source, m.ratio(g)*m.target, podsText(g.pods), m.target)
}

func podsText(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return strconv.Itoa(n) + " pods"
}
