package policy

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
)

// toleranceBand holds while low <= usage/target <= high.
type toleranceBand struct{ low, high float64 }

func (b toleranceBand) covers(ratio float64) bool { return ratio >= b.low && ratio <= b.high }

// podView is how samples of pods are interpreted.
type podView struct {
	now        time.Time
	window     time.Duration // that a sample covers
	initPeriod time.Duration
}

// recommend is the largest of the metrics' recommendations. A metric without data blocks a
// scale-down: it might have required more.
func recommend(metrics []hpaMetric, current int, seen *loadline.ServiceObservation, view podView) (int, string, error) {
	desired, reason := 0, ""
	var failed error
	for _, m := range metrics {
		n, why, err := m.replicas(current, seen, view)
		if err != nil {
			failed = err
		} else if n > desired || reason == "" {
			desired, reason = n, why
		}
	}
	if failed != nil && desired < current {
		return 0, "", failed
	}
	return desired, reason, nil
}

// podGroup is the sum over some pods.
type podGroup struct {
	pods           int
	usage, request float64
}

func (g *podGroup) add(usage, request float64) {
	g.pods++
	g.usage += usage
	g.request += request
}

// with adds another group, each of its pods using the given share of its request.
func (g podGroup) with(o podGroup, share float64) podGroup {
	return podGroup{g.pods + o.pods, g.usage + share*o.request, g.request + o.request}
}

// podReplicas is ceil(ratio * pods), with the rules for pods that cannot be counted directly:
// unready ones are assumed to use nothing if that would slow a scale-up; those without a sample
// are assumed to use what counteracts the change; and if this reverses the direction, nothing
// changes.
func (m hpaMetric) podReplicas(current int, pods []loadline.PodObservation, view podView) (int, string, error) {
	counted, unready, missing, err := m.group(pods, view)
	if err != nil {
		return 0, "", err
	}
	if counted.pods == 0 {
		return 0, "", fmt.Errorf("%w: no ready pod has a sample of %s", loadline.ErrNoData, m.source)
	}
	first := m.ratio(counted)
	used := m.describe(counted)
	slowUp := unready.pods > 0 && first > 1
	if !slowUp && missing.pods == 0 {
		if m.hold.covers(first) {
			return current, used + ": within tolerance", nil
		}
		desired := int(math.Ceil(first * float64(counted.pods)))
		return desired, used + ": " + loadline.DescribeReplicas(desired), nil
	}

	all := counted
	if first < 1 {
		all = all.with(missing, m.missingShare())
	} else if first > 1 {
		all = all.with(missing, 0)
	}
	if slowUp {
		all = all.with(unready, 0)
	}
	used += fmt.Sprintf(" (%d unready, %d without a sample)", unready.pods, missing.pods)
	second := m.ratio(all)
	desired := int(math.Ceil(second * float64(all.pods)))
	switch {
	case m.hold.covers(second):
		return current, used + ": within tolerance with those", nil
	case (first < 1) != (second < 1), second < 1 && desired > current, second > 1 && desired < current:
		return current, used + ": those would reverse the direction", nil
	}
	return desired, used + ": " + loadline.DescribeReplicas(desired), nil
}

// group sorts a service's pods into those that count, those that are not ready, and those
// without data.
func (m hpaMetric) group(pods []loadline.PodObservation, view podView) (counted, unready, missing podGroup, err error) {
	for i := range pods {
		pod := &pods[i]
		sample, request := m.read(pod)
		if request <= 0 {
			return counted, unready, missing, fmt.Errorf("%w: a pod has no %s request to measure its use by", loadline.ErrNoData, m.source)
		}
		switch {
		case pod.Phase == loadline.PodDraining:
		case pod.Phase == loadline.PodPending, pod.Phase == loadline.PodStarting && !sample.Present():
			unready.add(0, request)
		case !sample.Present():
			missing.add(0, request)
		case m.source == sourceCPU && !view.ready(pod):
			unready.add(0, request)
		default:
			counted.add(sample.Value, request)
		}
	}
	return counted, unready, missing, nil
}

// ready reports whether a pod's CPU sample is meaningful: start-up uses CPU that is unrelated
// to load.
func (v podView) ready(pod *loadline.PodObservation) bool {
	if v.now.Sub(pod.Created) < v.initPeriod {
		return pod.Phase == loadline.PodReady && !pod.CPU.At.Before(pod.Ready.Add(v.window))
	}
	return pod.Phase == loadline.PodReady || !pod.Ready.IsZero()
}
