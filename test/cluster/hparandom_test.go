package cluster

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
)

// rules are one autoscaler's settings. Values of metrics are in thousandths.
type rules struct {
	cpu, memory                int   // % of the request; 0 = off
	concurrency, rps           int64 // per pod; 0 = off
	upTolerance, downTolerance int   // thousandths; -1 = as the controller has it
	min, max                   int
	behaviour                  [2]rule // up, down
	plain                      bool    // the original has no behaviour field, ours its defaults
}

// rule is one direction's part of the behaviour.
type rule struct {
	window   int // seconds
	policies []ratePolicy
	pick     string // max, min, disabled
}

type ratePolicy struct {
	value   int
	percent bool
	period  int // seconds
}

// unlimited has no rate limits.
func unlimited() [2]rule {
	return [2]rule{
		{policies: []ratePolicy{{value: 1 << 20, period: 15}}, pick: "max"},
		{policies: []ratePolicy{{value: 100, percent: true, period: 15}}, pick: "max"},
	}
}

func thousandths(n int64) string { return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) }

// spec is the configuration of our policy.
func (r rules) spec() string {
	var s []string
	set := func(key, value string) { s = append(s, key+"="+value) }
	if r.cpu > 0 {
		set("target", strconv.Itoa(r.cpu))
	} else {
		set("target", "off")
	}
	if r.memory > 0 {
		set("memory-target", strconv.Itoa(r.memory))
	}
	if r.concurrency > 0 {
		set("concurrency-target", thousandths(r.concurrency))
	}
	if r.rps > 0 {
		set("rps-target", thousandths(r.rps))
	}
	if r.upTolerance >= 0 {
		set("up-tolerance", thousandths(int64(r.upTolerance)))
	}
	if r.downTolerance >= 0 {
		set("down-tolerance", thousandths(int64(r.downTolerance)))
	}
	if r.plain {
		return "hpa:" + strings.Join(s, ",")
	}
	for i, direction := range []string{"up", "down"} {
		b := r.behaviour[i]
		set(direction+"-window", fmt.Sprintf("%ds", b.window))
		set(direction+"-select", b.pick)
		var policies []string
		for _, p := range b.policies {
			unit := ""
			if p.percent {
				unit = "%"
			}
			policies = append(policies, fmt.Sprintf("%d%s/%ds", p.value, unit, p.period))
		}
		set(direction+"-policies", strings.Join(policies, "+"))
	}
	return "hpa:" + strings.Join(s, ",")
}

// object is the configuration of the original.
func (r rules) object(name string) *autoscalingv2.HorizontalPodAutoscaler {
	low := int32(r.min)
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: hpaNamespace, Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			MinReplicas:    &low, MaxReplicas: int32(r.max),
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
				ScaleUp: r.behaviour[0].object(r.upTolerance), ScaleDown: r.behaviour[1].object(r.downTolerance),
			},
		},
	}
	if r.plain {
		hpa.Spec.Behavior = nil
	}
	utilisation := func(of corev1.ResourceName, target int) {
		percent := int32(target)
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, autoscalingv2.MetricSpec{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{Name: of,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent}},
		})
	}
	average := func(n int64) autoscalingv2.MetricTarget {
		return autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType,
			AverageValue: resource.NewMilliQuantity(n, resource.DecimalSI)}
	}
	if r.cpu > 0 {
		utilisation(corev1.ResourceCPU, r.cpu)
	}
	if r.memory > 0 {
		utilisation(corev1.ResourceMemory, r.memory)
	}
	if r.concurrency > 0 {
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, autoscalingv2.MetricSpec{
			Type: autoscalingv2.PodsMetricSourceType,
			Pods: &autoscalingv2.PodsMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: "concurrency"},
				Target: average(r.concurrency)},
		})
	}
	if r.rps > 0 {
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, autoscalingv2.MetricSpec{
			Type:     autoscalingv2.ExternalMetricSourceType,
			External: &autoscalingv2.ExternalMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: name}, Target: average(r.rps)},
		})
	}
	return hpa
}

func (r rule) object(tolerance int) *autoscalingv2.HPAScalingRules {
	window := int32(r.window)
	pick := map[string]autoscalingv2.ScalingPolicySelect{
		"max": autoscalingv2.MaxChangePolicySelect, "min": autoscalingv2.MinChangePolicySelect,
		"disabled": autoscalingv2.DisabledPolicySelect,
	}[r.pick]
	o := &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &window, SelectPolicy: &pick}
	if tolerance >= 0 {
		o.Tolerance = resource.NewMilliQuantity(int64(tolerance), resource.DecimalSI)
	}
	for _, p := range r.policies {
		kind := autoscalingv2.PodsScalingPolicy
		if p.percent {
			kind = autoscalingv2.PercentScalingPolicy
		}
		o.Policies = append(o.Policies, autoscalingv2.HPAScalingPolicy{Type: kind, Value: int32(p.value), PeriodSeconds: int32(p.period)})
	}
	return o
}

// randomRules are typical ones, and some unusual ones.
func randomRules(rng *rand.Rand) rules {
	r := rules{upTolerance: -1, downTolerance: -1, min: 1 + rng.IntN(4)}
	r.max = r.min + rng.IntN(30)
	for r.cpu == 0 && r.memory == 0 && r.concurrency == 0 && r.rps == 0 {
		if rng.IntN(4) > 0 {
			r.cpu = 10 + rng.IntN(140)
		}
		if rng.IntN(4) == 0 {
			r.memory = 10 + rng.IntN(100)
		}
		if rng.IntN(4) == 0 {
			r.concurrency = 100 + rng.Int64N(20000)
		}
		if rng.IntN(4) == 0 {
			r.rps = 100 + rng.Int64N(50000)
		}
	}
	if rng.IntN(3) == 0 {
		r.upTolerance = 5 * rng.IntN(60)
	}
	if rng.IntN(3) == 0 {
		r.downTolerance = 5 * rng.IntN(60)
	}
	// Both directions have the same window: otherwise the original drops its history early.
	longest := 15 * (1 + rng.IntN(8))
	for i := range r.behaviour {
		b := &r.behaviour[i]
		b.window = [...]int{0, 0, 0, 15, 30, 40, 60, 300}[rng.IntN(8)]
		b.pick = [...]string{"max", "max", "max", "max", "max", "max", "min", "min", "min", "disabled"}[rng.IntN(10)]
		for n := range 1 + rng.IntN(3) {
			p := ratePolicy{value: 1 + rng.IntN(8), period: longest}
			if n > 0 {
				p.period = 1 + rng.IntN(longest)
			}
			if rng.IntN(2) == 0 {
				p.value, p.percent = 5+rng.IntN(200), true
				if i == 1 {
					p.value = 5 + rng.IntN(95)
				}
			}
			b.policies = append(b.policies, p)
		}
	}
	return r
}

// round is the input of both sides at one sync.
type round struct {
	pods   []podRound
	rate   int64 // thousandths; -1 = unknown
	status int   // replicas in the workload's status, if there are no pods
}

// there is the number of replicas in the workload's status.
func (r *round) there() int {
	n := r.status
	for i := range r.pods {
		if r.pods[i].kind != podDraining {
			n++
		}
	}
	return n
}

func (r round) String() string {
	var s []string
	for _, p := range r.pods {
		s = append(s, fmt.Sprintf("%s cpu %d/%d memory %d/%d busy %d (age %v, ready for %v, sample %v old)", podKinds[p.kind], p.cpu,
			p.cpuRequest, p.memory, p.memoryRequest, p.busy, p.age, p.readyFor, p.sampleAge))
	}
	return fmt.Sprintf("rate %d; pods: %s", r.rate, strings.Join(s, "; "))
}

// podRound is one pod at one sync.
type podRound struct {
	kind                     int
	age, readyFor, sampleAge time.Duration
	cpu, cpuRequest          int64 // thousandths of a core; -1 = no sample
	memory, memoryRequest    int64 // bytes; 0 = no sample
	busy                     int64 // thousandths; -1 = no sample
}

const (
	podPending  = iota // not bound, or its container does not run yet
	podStarting        // runs, has never been ready
	podReady           // serves
	podRelapsed        // was ready once and is not now
	podSilent          // runs, has never been ready, without measurements
	podDraining        // is being deleted
	podKindCount
)

var podKinds = [podKindCount]string{"pending", "starting", "ready", "relapsed", "silent", "draining"}

// prepare makes the next round: pods near the number of replicas, with about the target usage;
// sometimes the replicas are changed manually, only after a round without a change: the
// original records its changes, ours the applied ones, which differ if a change is undone in
// between.
func (a *autoscaler) prepare(rng *rand.Rand) {
	if rng.IntN(20) == 0 && !a.moved {
		a.replicas = [...]int{0, 1, a.rules.max + 3, rng.IntN(a.rules.max + 1)}[rng.IntN(4)]
	} else if a.replicas == 0 {
		a.replicas = a.rules.min
	}
	factor := [...]float64{0.3, 0.7, 0.88, 0.95, 1, 1.05, 1.13, 1.5, 3}[rng.IntN(9)]
	a.round = round{rate: -1}
	n := max(0, a.replicas+[...]int{0, 0, 0, 0, 0, -1, 1, 2}[rng.IntN(8)])
	calm := rng.IntN(3) == 0 // all pods are ready and have samples
	for range n {
		a.round.pods = append(a.round.pods, a.rules.randomPod(rng, calm, factor*(0.8+0.4*rng.Float64())))
	}
	if rng.IntN(10) > 0 {
		a.round.rate = int64(factor * float64(a.rules.rps*int64(n)))
	}
}

func (r rules) randomPod(rng *rand.Rand, calm bool, factor float64) podRound {
	p := podRound{
		kind: podReady, age: time.Duration(rng.IntN(900)) * time.Second, sampleAge: time.Duration(rng.IntN(45)) * time.Second,
		cpuRequest: [...]int64{50, 100, 250, 333, 500, 1000, 2000}[rng.IntN(7)], memoryRequest: [...]int64{64 << 20, 100e6,
			1 << 30}[rng.IntN(3)],
	}
	if !calm {
		p.kind = [...]int{podPending, podStarting, podReady, podReady, podReady, podReady, podRelapsed, podDraining}[rng.IntN(8)]
	} else {
		p.age += 15 * time.Minute
	}
	p.readyFor = time.Duration(rng.Int64N(int64(p.age/time.Second)+1)) * time.Second
	if p.kind == podRelapsed { // it was ready for more than the readiness delay
		p.age += 2 * time.Minute
		p.readyFor = time.Duration(rng.IntN(60)) * time.Second
	}
	p.cpu = int64(factor * float64(p.cpuRequest) * float64(max(r.cpu, 50)) / 100)
	p.memory = 1 + int64(factor*float64(p.memoryRequest)*float64(max(r.memory, 50))/100)
	p.busy = int64(factor * float64(r.concurrency))
	if !calm && (p.kind == podReady || p.kind == podDraining || p.kind == podPending) {
		if rng.IntN(6) == 0 {
			p.cpu = -1
		}
		if rng.IntN(6) == 0 {
			p.memory = 0
		}
		if rng.IntN(6) == 0 {
			p.busy = -1
		}
	}
	return p
}

// object is the pod as the original sees it.
func (p *podRound) object(app string, i int, now time.Time) *corev1.Pod {
	started := metav1.NewTime(now.Add(-p.age))
	changed, status, phase := started, corev1.ConditionFalse, corev1.PodRunning
	switch p.kind {
	case podPending:
		phase = corev1.PodPending
	case podReady, podDraining:
		changed, status = metav1.NewTime(now.Add(-p.readyFor)), corev1.ConditionTrue
	case podRelapsed: // since when it is not
		changed = metav1.NewTime(now.Add(-p.readyFor))
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: hpaNamespace, Name: podName(app, i), Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewMilliQuantity(p.cpuRequest, resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(p.memoryRequest, resource.BinarySI),
			}}}}},
		Status: corev1.PodStatus{Phase: phase, StartTime: &started, Conditions: []corev1.PodCondition{{Type: corev1.PodReady,
			Status: status, LastTransitionTime: changed}}},
	}
	if p.kind == podDraining {
		pod.DeletionTimestamp = &started
	}
	return pod
}

// observation is the round as our policy sees it.
func (r *round) observation(now time.Time) loadline.Observation {
	s := loadline.ServiceObservation{}
	for i := range r.pods {
		s.Pods = append(s.Pods, r.pods[i].observation(int64(i+1), now))
	}
	for range r.status {
		s.Pods = append(s.Pods, loadline.PodObservation{Phase: loadline.PodReady})
	}
	if r.rate >= 0 {
		s.Rate = loadline.Sample{Value: float64(r.rate) / 1000, At: now}
	}
	return loadline.Observation{At: now, Services: []loadline.ServiceObservation{s}}
}

func (p *podRound) observation(id int64, now time.Time) loadline.PodObservation {
	at := now.Add(-p.sampleAge)
	sample := func(value float64, there bool) loadline.Sample {
		if !there {
			return loadline.Sample{}
		}
		return loadline.Sample{Value: value, At: at}
	}
	o := loadline.PodObservation{
		ID: id, Created: now.Add(-p.age),
		Size:   loadline.Size{CPURequest: float64(p.cpuRequest) / 1000, MemoryRequest: p.memoryRequest},
		CPU:    sample(float64(p.cpu)/1000, p.cpu >= 0),
		Memory: sample(float64(p.memory), p.memory > 0),
		Busy:   sample(float64(p.busy)/1000, p.busy >= 0),
	}
	switch p.kind {
	case podPending:
		o.Phase = loadline.PodPending
	case podStarting, podSilent:
		o.Phase = loadline.PodStarting
	case podReady:
		o.Phase, o.Ready = loadline.PodReady, now.Add(-p.readyFor)
	case podRelapsed:
		o.Phase, o.Ready = loadline.PodStarting, now.Add(-p.age+time.Second)
	case podDraining:
		o.Phase, o.Ready = loadline.PodDraining, now.Add(-p.readyFor)
	}
	return o
}
