package rivals

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/rl"
)

// FIRM changes one resource of one service at a time (Qiu et al., "FIRM: An
// intelligent fine-grained resource management framework for SLO-oriented
// microservices", 2020). While the SLO is violated, a support vector machine selects the
// culprit among the services on the critical path; otherwise services take turns. The
// action on a service is decided by its own actor, trained with DDPG.
type FIRM struct {
	decisionState
	period time.Duration
	svm    SVM
	actors []*rl.NetPolicy // by service
	paths  pathFinder
	order  []int // of turns: services of the longest chain first
	turn   int   // position in the order
	locate []float64
	ratios *formulation.FeatureSet
	values []float32
}

// FIRMPeriod is the time between two decisions.
const FIRMPeriod = 5 * time.Second

// firmObservations is the number of observations over which services are compared.
const firmObservations = 12

// The axes of an action.
const (
	firmCPU = iota
	firmMemory
	firmReplicas
	FIRMAxes
)

// firmFeatures are the first part of the observation.
var firmFeatures = []string{"cpu_limit", "memory", "concurrency", "fill", "size"}

var firmAxisNames = [FIRMAxes]string{"CPU", "memory", "replicas"}

// An action of 1 increases a size by half, one of -1 decreases it by a third; replicas
// change by one. Actions below the least have no effect.
const (
	firmStep  = 1.5
	firmLeast = 0.1
)

// The observation of an actor: usage over limit of three resources (CPU, memory, workers),
// the distance from the bounds, the ratio of the SLO to the latency, the change of the
// arrival rate; then the shares of the kinds of requests.
const (
	firmRatios = 3
	firmFixed  = firmRatios + 4
)

// FIRMWidth is the width of an actor's observation with the given number of kinds of requests.
func FIRMWidth(kinds int) int { return firmFixed + kinds }

func newFIRM(m *Model, app *loadline.App, delay time.Duration) (*FIRM, error) {
	width := FIRMWidth(len(app.Kinds))
	s, err := newDecisionState(m, app, delay, width)
	if err != nil {
		return nil, err
	}
	if m.Kinds != len(app.Kinds) {
		return nil, fmt.Errorf("the actors were trained on %d kinds of requests, %s has %d; train one for it", m.Kinds, app.Name,
			len(app.Kinds))
	}
	ratios, err := formulation.NewFeatureSet(firmFeatures...)
	if err != nil {
		return nil, err
	}
	f := &FIRM{
		decisionState: s, period: m.Period, svm: *m.SVM, actors: make([]*rl.NetPolicy,
			len(app.Services)), paths: newPathFinder(app), ratios: ratios,
		locate: make([]float64, LocateWidth),
	}
	for i, at := range s.at {
		if at >= 0 {
			f.actors[i] = rl.NewNetPolicy(m.Actors[at], f.Spaces())
			f.order = append(f.order, i)
		}
	}
	longest := f.paths.longestChains()
	slices.SortStableFunc(f.order, func(a, b int) int { return longest[b] - longest[a] })
	return f, nil
}

// actorFits reports whether a network has the shape of an actor.
func actorFits(net *nn.Net, kinds int) bool {
	layers := net.Design().Layers
	return len(layers) > 1 && layers[0].Width == FIRMWidth(kinds) && layers[len(layers)-1].Width == FIRMAxes
}

// Name implements loadline.Policy.
func (f *FIRM) Name() string { return string(FIRMName) }

// Needs implements loadline.Policy.
func (f *FIRM) Needs() loadline.Needs {
	return loadline.Needs{Period: f.period, Scrape: min(5*time.Second, f.period), Window: max(30*time.Second, f.period), Delay: f.delay,
		Keep: firmObservations, PartialSLO: true}
}

// Spaces implements Rival.
func (f *FIRM) Spaces() rl.Spaces {
	return rl.Spaces{Observation: FIRMWidth(len(f.app.Kinds)), Dimensions: FIRMAxes}
}

// Begin implements Rival.
func (f *FIRM) Begin() {
	f.forget()
	f.turn = 0
}

// Decide implements loadline.Policy.
func (f *FIRM) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	f.forget()
	var proposal loadline.Proposal
	absent := ""
	for i, at := range f.at {
		if at < 0 {
			continue
		}
		if missing := f.see(s, i); missing != "" {
			absent = fmt.Sprintf("%s of %s", missing, s.App.Services[i].Name)
		}
	}
	if !f.anyKnown() {
		return proposal, f.noData(absent)
	}
	service, why := f.whose(s)
	if service < 0 {
		return proposal, nil
	}
	action := f.Spaces().NewAction()
	if f.choose != nil {
		f.choose(service, f.observed[service], &action)
	} else {
		f.actors[service].Decide(f.observed[service], &action)
	}
	setting, axis, x := f.move(s, service, action.Values)
	applied := f.Spaces().NewAction()
	if axis >= 0 {
		applied.Values[axis] = x
		proposal.Services = append(proposal.Services, loadline.ServiceProposal{
			Service: service, Setting: setting, Reason: f.reason(s, service, why, axis, x),
		})
	}
	f.taken = append(f.taken, Taken{service, applied})
	return proposal, nil
}

// reason states why the service was chosen, its observation, and the actor's choice.
func (f *FIRM) reason(s loadline.Situation, service int, why string, axis int, x float32) string {
	seen := f.observed[service]
	given := formulation.Describe(s.Now().Services[service].Rate, firmFeatures, func(i int) float64 { return float64(seen[i]) })
	return fmt.Sprintf("%s; %s: the network chose %s %+.2f", why, given, firmAxisNames[axis], x)
}

// see computes the observation of an actor.
func (f *FIRM) see(s loadline.Situation, service int) (absent string) {
	if f.values, absent = f.ratios.Append(f.topology, s, service, f.values[:0]); absent != "" {
		return absent
	}
	seen := f.observed[service][:0]
	for _, v := range f.values {
		seen = append(seen, min(v, fullest))
	}
	over, known := f.over(s.Now(), service)
	if !known {
		return "the users' response time"
	}
	seen = append(seen, float32(1/max(over, 1)), f.arrivals(s, service))
	all := 0.0
	for k := range s.Now().Kinds {
		all += s.Now().Kinds[k].Rate.Or(0)
	}
	for k := range s.Now().Kinds {
		share := 0.0
		if all > 0 {
			share = s.Now().Kinds[k].Rate.Or(0) / all
		}
		seen = append(seen, float32(share))
	}
	f.observed[service], f.known[service] = seen, true
	return ""
}

// over is the worst response time over its SLO among the kinds that visit the service. It
// is unknown if no such kind was measured.
func (f *FIRM) over(o *loadline.Observation, service int) (worst float64, known bool) {
	for k, n := range f.topology.Services[service].Visits {
		if n <= 0 {
			continue
		}
		if over, ok := OverSLO(&f.app.Kinds[k], &o.Kinds[k]); ok {
			worst, known = max(worst, over), true
		}
	}
	return worst, known
}

// latest limits the ratio of response time and SLO.
const latest = 10

// OverSLO is a kind's response time at its SLO's percentile over the SLO's latency. If
// more requests fail than the percentile allows, it is the limit; without requests it is
// 0.
func OverSLO(kind *loadline.Kind, seen *loadline.KindObservation) (over float64, known bool) {
	switch rate := seen.Rate; {
	case !rate.Present():
		return 0, false
	case rate.Value == 0:
		return 0, true
	case seen.Failed.Or(0)/rate.Value > 1-kind.SLO.Percentile/100:
		return latest, true
	case !seen.AtSLO.Present():
		return 0, false
	}
	return min(seen.AtSLO.Value/kind.SLO.Latency.Seconds(), latest), true
}

// arrivals is the rate of visits over that at the last decision.
func (f *FIRM) arrivals(s loadline.Situation, service int) float32 {
	if n := len(s.Window); n > 1 {
		now, then := s.Window[n-1].Services[service].Rate, s.Window[n-2].Services[service].Rate
		if now.Present() && then.Present() && then.Value > 0 {
			return float32(min(now.Value/then.Value, fullest))
		}
	}
	return 1
}

// whose returns the service to act on, and why: the culprit while the SLO is violated,
// otherwise every service in turn; -1 = none was observed.
func (f *FIRM) whose(s loadline.Situation) (service int, why string) {
	if kind, late := f.paths.latest(s.Now()); late {
		if service := f.culprit(s, kind); service >= 0 {
			return service, fmt.Sprintf("%s is over its SLO, and the service is its likeliest cause", s.App.Kinds[kind].Name)
		}
	}
	for range f.order {
		service := f.order[f.turn%len(f.order)]
		f.turn++
		if f.known[service] {
			return service, "no SLO is violated, and it is next in order"
		}
	}
	return -1, ""
}

// culprit is the service on the critical path with the highest score of the SVM.
func (f *FIRM) culprit(s loadline.Situation, kind int) int {
	path, _ := f.paths.critical(s.Now(), kind)
	best, score := -1, math.Inf(-1)
	for _, service := range path {
		if f.at[service] < 0 || !f.known[service] {
			continue
		}
		f.locate = f.paths.symptoms(s.Window, kind, service, f.locate[:0])
		if v := f.svm.Score(f.locate); v > score {
			best, score = service, v
		}
	}
	return best
}

// move applies the largest action among the axes that can change: otherwise an actor whose
// largest action is blocked by a bound would never act. -1 = nothing changes.
func (f *FIRM) move(s loadline.Situation, service int, wants []float32) (setting loadline.Setting, axis int, x float32) {
	var order [FIRMAxes]int
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order[:], func(a, b int) int { return cmp.Compare(abs(wants[b]), abs(wants[a])) })
	for _, axis := range order {
		x := min(max(wants[axis], -1), 1)
		if !(abs(x) >= firmLeast) { // NaN has no effect
			continue
		}
		if setting, moved := f.moveAxis(s, service, axis, float64(x)); moved {
			return setting, axis, x
		}
	}
	return loadline.Setting{}, -1, 0
}

func (f *FIRM) moveAxis(s loadline.Situation, service, axis int, x float64) (loadline.Setting, bool) {
	desired := s.InFlight[service]
	switch axis {
	case firmCPU:
		return f.moves.cpu(service, desired, math.Pow(firmStep, x))
	case firmMemory:
		return f.moves.memory(service, desired, memoryOf(&s.Now().Services[service]), math.Pow(firmStep, x))
	}
	if x < 0 {
		return f.moves.replicas(service, desired, -1)
	}
	return f.moves.replicas(service, desired, 1)
}

func abs(v float32) float32 { return max(v, -v) }

// sloWeight is the weight of the SLO against the utilisation of each resource.
const sloWeight = 5

// Reward implements Rival: 5 times how well the SLO is kept, and usage over limit of
// every resource.
func (f *FIRM) Reward(s loadline.Situation, service int) (float64, bool) {
	over, known := f.over(s.Now(), service)
	if !known {
		return 0, false
	}
	var absent string
	if f.values, absent = f.ratios.Append(f.topology, s, service, f.values[:0]); absent != "" {
		return 0, false
	}
	reward := sloWeight / max(over, 1)
	for _, v := range f.values[:firmRatios] {
		reward += min(float64(v), 1)
	}
	return reward, true
}

// Symptoms calls back with those of every service on the critical path of the kind with
// the worst response time over its SLO, to train the SVM; not while the SLO is met.
func (f *FIRM) Symptoms(s loadline.Situation, each func(service int, symptoms []float64)) {
	kind, late := f.paths.latest(s.Now())
	if !late {
		return
	}
	path, _ := f.paths.critical(s.Now(), kind)
	for _, service := range path {
		f.locate = f.paths.symptoms(s.Window, kind, service, f.locate[:0])
		each(service, f.locate)
	}
}
