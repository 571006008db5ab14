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

// podView is how samples of pods are judged.
type podView struct {
	now        time.Time
	window     time.Duration // that a sample covers
	initPeriod time.Duration
}

// recommend takes the largest of what the metrics want. A metric without data
// blocks a scale-down: it might have wanted more.
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

// podGroup is some pods summed up.
type podGroup struct {
	pods           int
	usage, request float64
}

func (g *podGroup) add(usage, request float64) {
	g.pods++
	g.usage += usage
	g.request += request
}

// with counts another group as well, each of its pods using so much of its
// request.
func (g podGroup) with(o podGroup, share float64) podGroup {
	return podGroup{g.pods + o.pods, g.usage + share*o.request, g.request + o.request}
}

// podReplicas is ceil(ratio * pods), with the rules for pods that cannot be
// counted as they are: unready ones are taken to use nothing if that would slow
// a scale-up; those without a sample are taken to use what speaks against the
// change; and if this turns the direction, nothing is done.
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
		return int(math.Ceil(first * float64(counted.pods))), used, nil
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
		return current, used + ": within tolerance if those are counted", nil
	case (first < 1) != (second < 1), second < 1 && desired > current, second > 1 && desired < current:
		return current, used + ": those would turn the direction", nil
	}
	return desired, used, nil
}

// group sorts a service's pods into those that count, those that are not ready
// to be counted, and those of which nothing is known.
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

// ready says whether a pod's CPU sample is to be trusted: start-up burns CPU
// that says nothing about load.
func (v podView) ready(pod *loadline.PodObservation) bool {
	if v.now.Sub(pod.Created) < v.initPeriod {
		return pod.Phase == loadline.PodReady && !pod.CPU.At.Before(pod.Ready.Add(v.window))
	}
	return pod.Phase == loadline.PodReady || !pod.Ready.IsZero()
}
