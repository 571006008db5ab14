package papers

import (
	"context"
	"math"
	"runtime"
	"time"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
)

const (
	drpcLength  = 10 * time.Hour
	drpcPeriods = 5
	drpcWarmUp  = 5 * minute // excluded from latency and SLO figures, not from cost

	// Delays of observing and deciding. The paper gives no figure for the collection time of a
	// central controller; it samples every 200 ms, which is taken as the time per service, in
	// sequence. A policy that decides locally has the same second as every policy here.
	drpcLocalDelay   = time.Second
	drpcPerService   = 200 * time.Millisecond
	drpcStudents     = "drpc"
	drpcTeacher      = "drpc, teacher"
	drpcTeacherQuick = "drpc, teacher without delay"
	drpcBranching    = "drpc, branching teacher"
	drpcKuScal       = "hpa:target=75 (KuScal)"
	drpcCalibrated   = "hpa (calibrated)"
	drpcOracle       = "oracle"
)

func (s *drpcSetup) centralDelay() time.Duration {
	return drpcLocalDelay + time.Duration(len(s.app.Services))*drpcPerService
}

// drpcContender is one compared policy.
type drpcContender struct {
	name   string
	policy func(seed int) string
	grows  bool // part of the experiment with growing load
}

// contenders in the order of tables.
func (s *drpcSetup) contenders(models []*drpcModels, calibrated, oracle string) []drpcContender {
	of := func(learner, settings string) func(int) string {
		p := named(models, learner)
		return func(seed int) string {
			return p.method.Spec(p.models[seed].Path(), settings)
		}
	}
	always := func(spec string) func(int) string { return func(int) string { return spec } }
	central := "delay=" + s.centralDelay().String()
	return []drpcContender{
		{drpcStudents, of("drpc", ""), true},
		{drpcTeacher, of("drpc", "who=teacher,"+central), true},
		{drpcTeacherQuick, of("drpc", "who=teacher"), false},
		{drpcBranching, of("drpc-branching", ""), false},
		{"firm", of("firm", central), true},
		{"coscal", of("coscal", central), true},
		{"asarsa", of("asarsa", central), true},
		{drpcKuScal, always("hpa:target=75"), true},
		{drpcCalibrated, always(calibrated), false},
		{drpcOracle, always(oracle), false},
	}
}

// search finds HPA's best setting on validation data, and the oracle's levels. The oracle also
// sets the CPU, as most contenders do.
func (s *drpcSetup) search(ctx context.Context, o Options) (hpa, oracle string, err error) {
	validation, err := s.validation.For(s.app)
	if err != nil {
		return "", "", err
	}
	test, err := s.test.For(s.app)
	if err != nil {
		return "", "", err
	}
	first := bench.CalibrationLoad{Rates: validation, Duration: s.validation.Duration(), Seed: validationSeed + 1}
	second := first
	second.Seed++
	err = o.each(ctx, 2, func(job int) error {
		if job == 0 {
			found, err := bench.Calibrate(ctx, bench.CalibrationTask{App: s.app, Policy: "hpa:limits=keep,request=keep",
				Loads:  []bench.CalibrationLoad{first, second},
				WarmUp: warmUpOf(first.Duration)})
			if err == nil {
				hpa = found.Best.Spec
			}
			return err
		}
		found, err := bench.SearchLevels(ctx, bench.LevelSearch{
			App: s.app, Policy: "oracle:axes=replicas+cpu", WarmUp: warmUpOf(s.test.Duration()),
			Load: bench.CalibrationLoad{Rates: test, Duration: s.test.Duration(), Seed: validationSeed + 3},
		})
		if err == nil {
			oracle = found.Best.Spec
		}
		return err
	})
	return hpa, oracle, err
}

func warmUpOf(length time.Duration) time.Duration { return min(drpcWarmUp, length/20) }

// drpcOutcome is the result of one run.
type drpcOutcome struct {
	success, failed, mean [drpcPeriods]float64 // by period: per second, percent, ms
	successAll            float64
	table4                []float64 // ms, at drpcPercentiles
	within                []float64 // percent of completed requests within drpcSpans
	failedAll, meanAll    float64
	over, minutes         float64 // percent
	coreHours, gibHours   float64
	replicas, changes     float64
	volatile, unsteady    float64 // of throughput, and of replicas: standard deviation over mean
	decisionUs            float64
}

var (
	drpcPercentiles = []string{"p50", "p66", "p75", "p80", "p90", "p95", "p99", "p99.99"}
	drpcSpans       = []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
		200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second}
)

// compete runs every contender on every seed: outcomes by contender, then seed.
func (s *drpcSetup) compete(ctx context.Context, o Options, all []drpcContender) ([][]*drpcOutcome, error) {
	outcomes := make([][]*drpcOutcome, len(all))
	for i := range outcomes {
		outcomes[i] = make([]*drpcOutcome, o.Seeds)
	}
	err := o.each(ctx, len(all)*o.Seeds, func(job int) (err error) {
		c, seed := job/o.Seeds, job%o.Seeds
		outcomes[c][seed], err = s.enter(ctx, o, all[c], seed)
		return err
	})
	return outcomes, err
}

// enter runs one contender with one seed.
func (s *drpcSetup) enter(ctx context.Context, o Options, c drpcContender, seed int) (*drpcOutcome, error) {
	runtime.LockOSThread() // decisions are timed by the thread's CPU clock
	defer runtime.UnlockOSThread()
	length, warmUp := s.test.Duration(), warmUpOf(s.test.Duration())
	watch := &drpcWatch{}
	out, err := trial{
		app: s.app, load: s.test, policy: c.policy(seed), seed: o.Seed + uint64(seed), warmUp: warmUp, scrape: watch.scrape,
		cpuTime: o.CPUTime,
	}.run(ctx)
	if err != nil {
		return nil, err
	}
	r, l := &out.Result, &out.Result.Latency
	x := &drpcOutcome{
		failedAll: 100 * float64(r.FailedRatio), meanAll: float64(l.Mean), over: 100 * float64(r.OverSLORatio),
		minutes:   100 * float64(r.WindowsViolatedRatio),
		coreHours: float64(r.CoreHours), gibHours: float64(r.GiBHours), replicas: float64(r.MeanReplicas), changes: float64(r.Changes),
		volatile: watch.volatility(warmUp), unsteady: unsteady(out.Timeline, warmUp), decisionUs: math.NaN(),
	}
	x.successAll = float64(r.Requests) * (1 - float64(r.FailedRatio)) / (length - warmUp).Seconds()
	x.table4 = []float64{float64(l.P50), float64(l.P66), float64(l.P75), float64(l.P80), float64(l.P90), float64(l.P95), float64(l.P99),
		float64(l.P9999)}
	for p := range drpcPeriods {
		from := max(warmUp, length*time.Duration(p)/drpcPeriods)
		x.success[p], x.failed[p], x.mean[p] = watch.period(from, length*time.Duration(p+1)/drpcPeriods)
	}
	x.within = withinSpans(out.Meter)
	if o.CPUTime != nil && out.Effort.Decisions > 0 {
		x.decisionUs = float64(out.Effort.CPUTime) / float64(time.Microsecond) / float64(out.Effort.Decisions)
	}
	return x, nil
}

// withinSpans is the distribution of all completed requests.
func withinSpans(m *sim.Meter) []float64 {
	var out []float64
	for _, span := range drpcSpans {
		within, all := 0.0, 0.0
		for k := range m.Kinds {
			h := m.Kinds[k].Latency
			if n := h.Count(); n > 0 {
				all += n
				within += n * (1 - h.ShareAbove(float64(span)))
			}
		}
		out = append(out, 100*within/all)
	}
	return out
}

// unsteady is the standard deviation of all ready replicas over their mean.
func unsteady(story *simulate.Timeline, from time.Duration) float64 {
	var totals []float64
	for i, at := range story.At {
		if at <= from {
			continue
		}
		sum := 0.0
		for _, ready := range story.Ready {
			sum += ready[i]
		}
		totals = append(totals, sum)
	}
	return variation(totals)
}
