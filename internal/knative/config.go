package knative

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Config is Knative's configuration of the cluster, as far as it concerns autoscalers of any
// class: the ConfigMap config-autoscaler, and of config-deployment the deadline.
type Config struct {
	ScaleToZero      bool
	Grace, Retention time.Duration // scale-to-zero-grace-period, scale-to-zero-pod-retention-period
	ConcurrencyShare float64       // of the target that is aimed for
	Concurrency      float64       // default target
	RPS              float64       // default target
	BurstCapacity    float64
	Activator        float64 // capacity of one
	Window           time.Duration
	PanicWindow      float64 // %
	PanicThreshold   float64 // %
	UpRate, DownRate float64
	Delay            time.Duration
	InitialScale     int32
	ZeroInitialScale bool
	MinScale         int32
	MaxScale         int32 // 0 = unlimited
	ProgressDeadline time.Duration
}

// DefaultConfig is Knative's, for what a ConfigMap leaves out.
func DefaultConfig() Config {
	return Config{
		ScaleToZero: true, Grace: 30 * time.Second, ConcurrencyShare: 0.7, Concurrency: 100, RPS: 200, BurstCapacity: 211, Activator: 100,
		Window: time.Minute, PanicWindow: 10, PanicThreshold: 200, UpRate: 1000, DownRate: 2, InitialScale: 1,
		ProgressDeadline: 10 * time.Minute,
	}
}

// ParseConfig reads the two ConfigMaps. It reports all faults at once.
func ParseConfig(autoscaler, deployment map[string]string) (Config, error) {
	c := DefaultConfig()
	var faults []error
	each := func(data map[string]string, key string, take func(text string) error) {
		if text, ok := data[key]; ok {
			if err := take(text); err != nil {
				faults = append(faults, err)
			}
		}
	}
	set := func(key string, to *float64, low, high float64) {
		each(autoscaler, key, func(text string) error {
			v, err := number(key, text)
			if err == nil && (v < low || v > high) {
				err = fmt.Errorf("%s is %s: must be from %g to %g", key, text, low, high)
			}
			if err == nil {
				*to = v
			}
			return err
		})
	}
	counts := func(key string, to *int32) {
		each(autoscaler, key, func(text string) (err error) { *to, err = keep(*to, count, key, text); return })
	}
	spans := func(data map[string]string, key string, to *time.Duration) {
		each(data, key, func(text string) (err error) { *to, err = keep(*to, span, key, text); return })
	}
	bools := func(key string, to *bool) {
		each(autoscaler, key, func(text string) (err error) { *to, err = keep(*to, boolean, key, text); return })
	}
	bools("enable-scale-to-zero", &c.ScaleToZero)
	bools("allow-zero-initial-scale", &c.ZeroInitialScale)
	set("container-concurrency-target-percentage", &c.ConcurrencyShare, 0.0001, 100)
	set("container-concurrency-target-default", &c.Concurrency, 0.01, 1e6)
	set("requests-per-second-target-default", &c.RPS, 0.01, 1e6)
	set("target-burst-capacity", &c.BurstCapacity, -1, 1e9)
	set("activator-capacity", &c.Activator, 1, 1e9)
	set("panic-window-percentage", &c.PanicWindow, 1, 100)
	set("panic-threshold-percentage", &c.PanicThreshold, 110, 1000)
	set("max-scale-up-rate", &c.UpRate, 1.01, 1e6)
	set("max-scale-down-rate", &c.DownRate, 1.01, 1e6)
	counts("initial-scale", &c.InitialScale)
	counts("min-scale", &c.MinScale)
	counts("max-scale", &c.MaxScale)
	spans(autoscaler, "stable-window", &c.Window)
	spans(autoscaler, "scale-down-delay", &c.Delay)
	spans(autoscaler, "scale-to-zero-grace-period", &c.Grace)
	spans(autoscaler, "scale-to-zero-pod-retention-period", &c.Retention)
	spans(deployment, "progress-deadline", &c.ProgressDeadline)
	if c.ConcurrencyShare > 1 { // 70 and 0.7 are the same
		c.ConcurrencyShare /= 100
	}
	return c, errors.Join(faults...)
}

// keep is what was read, or the value before it with the error.
func keep[T any](was T, parse func(key, text string) (T, error), key, text string) (T, error) {
	v, err := parse(key, text)
	if err != nil {
		return was, err
	}
	return v, nil
}

func boolean(key, text string) (bool, error) {
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%s is %q: must be true or false", key, text)
	}
	return v, nil
}

// Settings of one revision: its annotations over the cluster's configuration.
type Settings struct {
	Min, Max   int32 // Max 0 = unlimited
	Initial    int32
	Activation int32 // least replicas other than 0
	Delay      time.Duration
	Retention  time.Duration
	Grace      time.Duration
	ToZero     bool
	Deadline   time.Duration
	// Unreachable: no route leads to the revision.
	Unreachable bool

	Metric           string  // concurrency or rps
	Target           float64 // per pod, without the share
	Share            float64 // of the target that is aimed for
	BurstCapacity    float64 // -1 = unlimited
	Activator        float64 // capacity of one
	Window           time.Duration
	PanicWindow      float64 // % of the window
	PanicThreshold   float64 // %
	UpRate, DownRate float64
}

// activationBuffer is added to the deadline, for Serving to notice first that a Deployment does
// not progress.
const activationBuffer = 10 * time.Second

// SettingsOf a revision. A fault in an annotation leaves the cluster's value, and is reported:
// Knative's webhook admits none, but it may be away.
func SettingsOf(p *PodAutoscaler, c Config) (Settings, error) {
	s := Settings{
		Min: c.MinScale, Max: c.MaxScale, Initial: c.InitialScale, Delay: c.Delay, Retention: c.Retention, Grace: c.Grace,
		ToZero: c.ScaleToZero, Deadline: c.ProgressDeadline, BurstCapacity: c.BurstCapacity, Activator: c.Activator, Window: c.Window,
		PanicWindow: c.PanicWindow, PanicThreshold: c.PanicThreshold, UpRate: c.UpRate, DownRate: c.DownRate,
	}
	r := reader{of: p}
	readInto(&r, &s.Min, count, "min-scale", "minScale")
	readInto(&r, &s.Max, count, "max-scale", "maxScale")
	readInto(&r, &s.Activation, count, "activation-scale")
	readInto(&r, &s.Delay, span, "scale-down-delay", "scaleDownDelay")
	readInto(&r, &s.Retention, span, "scale-to-zero-pod-retention-period", "scaleToZeroPodRetentionPeriod")
	readInto(&r, &s.Window, span, "window")
	readInto(&r, &s.BurstCapacity, number, "target-burst-capacity", "targetBurstCapacity")
	readInto(&r, &s.PanicWindow, number, "panic-window-percentage", "panicWindowPercentage")
	readInto(&r, &s.PanicThreshold, number, "panic-threshold-percentage", "panicThresholdPercentage")
	initial := s.Initial
	readInto(&r, &initial, count, "initial-scale", "initialScale")
	if initial > 0 || c.ZeroInitialScale {
		s.Initial = initial
	}
	if text, ok := p.Annotations["serving.knative.dev/progress-deadline"]; ok {
		d, err := span("serving.knative.dev/progress-deadline", text)
		if err == nil {
			s.Deadline = d
		}
		r.faults = append(r.faults, err)
	}
	if p.Spec.Reachability == unreachable { // nothing routes to it: no lower bound, and no reason to wait
		s.Unreachable, s.Min, s.Delay, s.Retention = true, 0, 0, 0
	}
	s.target(p, c, &r)
	return s, errors.Join(r.faults...)
}

// target of the revision's metric for each pod.
func (s *Settings) target(p *PodAutoscaler, c Config, r *reader) {
	s.Metric, s.Target, s.Share = "concurrency", c.Concurrency, c.ConcurrencyShare
	if key, text, ok := p.setting("metric"); ok {
		switch text {
		case "concurrency", "rps":
			s.Metric = text
		default:
			r.faults = append(r.faults, fmt.Errorf("%s is %q: the class %s scales by concurrency or rps; a LoadLine scales by what it is told",
				key, text, Class))
		}
	}
	hard := float64(p.Spec.ContainerConcurrency)
	switch {
	case s.Metric == "rps":
		s.Target, s.Share = c.RPS, 0.7
	case hard > 0:
		s.Target = hard
	}
	readInto(r, &s.Target, number, "target")
	if s.Metric == "concurrency" && hard > 0 {
		s.Target = min(s.Target, hard) // a container takes no more at once
	}
	percent := s.Share * 100
	readInto(r, &percent, number, "target-utilization-percentage", "targetUtilizationPercentage")
	s.Share = percent / 100
}

// reader of a revision's annotations.
type reader struct {
	of     *PodAutoscaler
	faults []error
}

func readInto[T any](r *reader, to *T, parse func(key, text string) (T, error), names ...string) {
	key, text, ok := r.of.setting(names...)
	if !ok {
		return
	}
	v, err := parse(key, text)
	if err != nil {
		r.faults = append(r.faults, err)
		return
	}
	*to = v
}
