package train

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/sim"
)

// steady load of a number of requests per second, of the first kind.
type steady float64

func (s steady) Rate(kind int, _ time.Duration) (float64, time.Duration) {
	if kind != 0 {
		return 0, sim.Never
	}
	return float64(s), sim.Never
}

// ramp grows by 0.1 requests per second every minute.
type ramp struct{}

func (ramp) Rate(_ int, t time.Duration) (float64, time.Duration) {
	minute := t.Truncate(time.Minute)
	return 1 + 0.1*minute.Minutes(), minute + time.Minute
}

func configOf(t testing.TB) ArenaConfig {
	model, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	needs := loadline.Needs{Period: 30 * time.Second, Delay: time.Second, Scrape: 10 * time.Second, Window: time.Minute, Keep: 3}
	return WholeApplication(Scenario{App: model.App, Load: steady(60), Duration: time.Hour}, needs, 5)
}

func begin(t testing.TB, c ArenaConfig, seed uint64, culprit int) *Arena {
	a, err := NewArena(c)
	if err != nil {
		t.Fatal(err)
	}
	a.Begin(rand.New(rand.NewPCG(seed, 1)), culprit)
	return a
}

func TestAStepIsAppliedAndObserved(t *testing.T) {
	a := begin(t, configOf(t), 1, NoCulprit)
	before, began := a.Situation().Allocation[0].Replicas, a.Now()
	a.Act(loadline.Proposal{Services: []loadline.ServiceProposal{{Service: 0,
		Setting: loadline.Setting{Replicas: loadline.Some(before + 2)}}}})
	if got := a.Situation().Allocation[0].Replicas; got != before+2 {
		t.Errorf("%d replicas, want %d", got, before+2)
	}
	if passed := a.Now().Sub(began); passed != a.Needs().Period || a.StepsTaken() != 1 {
		t.Errorf("%v passed in %d steps", passed, a.StepsTaken())
	}
	for range 10 {
		a.Propose(loadline.Proposal{})
		a.Advance(10 * time.Second)
	}
	if a.Over() || a.StepsTaken() != 1 {
		t.Errorf("%d steps were counted after Advance, want 1", a.StepsTaken())
	}
	if s := a.Situation(); len(s.Window) != 3 || !s.Now().Services[0].Rate.Present() || s.Window[0].At.After(s.Now().At) {
		t.Errorf("a window of %d", len(s.Window))
	}
	for range 4 {
		a.CountStep()
	}
	if !a.Over() {
		t.Error("not over")
	}
}

// TestADelayLongerThanThePeriod: the plan of one step is in flight at the next, as in
// production.
func TestADelayLongerThanThePeriod(t *testing.T) {
	c := configOf(t)
	c.Needs.Delay = c.Needs.Period + c.Needs.Period/2
	a := begin(t, c, 1, NoCulprit)
	before := a.Situation().Allocation[0].Replicas
	a.Act(loadline.Proposal{Services: []loadline.ServiceProposal{{Setting: loadline.Setting{Replicas: loadline.Some(before + 2)}}}})
	if s := a.Situation(); s.Allocation[0].Replicas != before || s.InFlight[0].Replicas != before+2 {
		t.Errorf("after one step %d replicas are desired and %d in flight, want %d and %d", s.Allocation[0].Replicas,
			s.InFlight[0].Replicas, before, before+2)
	}
	a.Act(loadline.Proposal{})
	if s := a.Situation(); s.Allocation[0].Replicas != before+2 || s.InFlight[0].Replicas != before+2 {
		t.Errorf("after two steps %d replicas are desired and %d in flight, want %d", s.Allocation[0].Replicas,
			s.InFlight[0].Replicas, before+2)
	}
	a.Act(loadline.Proposal{Services: []loadline.ServiceProposal{{Setting: loadline.Setting{Replicas: loadline.Some(before + 4)}}}})
	a.Begin(rand.New(rand.NewPCG(1, 1)), NoCulprit)
	if s := a.Situation(); s.InFlight[0].Replicas != before {
		t.Errorf("an episode begins with %d replicas in flight, want %d", s.InFlight[0].Replicas, before)
	}
}

// decider is a policy that counts how often it is asked, and keeps the split of the SLO.
type decider struct {
	agent
	err   error
	asked int
	parts []loadline.SLO
}

func (d *decider) Decide(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
	d.asked++
	d.parts = s.PartialSLO
	return d.proposal, d.err
}

// TestFollowAsksThePolicyInAPass: the loop asks it with the arena's split, applies its
// proposal, and holds on an error.
func TestFollowAsksThePolicyInAPass(t *testing.T) {
	c := configOf(t)
	parts := make([]loadline.SLO, len(c.App.Services))
	parts[0] = loadline.SLO{Percentile: 99, Latency: time.Second}
	c.Splitter = loop.FixedSplit(parts)
	a := begin(t, c, 1, NoCulprit)
	before := a.Situation().Allocation[0].Replicas
	var d decider
	propose := func(replicas int) {
		d.proposal.Services = []loadline.ServiceProposal{{Setting: loadline.Setting{Replicas: loadline.Some(replicas)}}}
	}
	propose(before + 1)
	decision := a.Follow(&d)
	if decision.Err != nil || len(decision.Plan.Services) != 1 || !slices.Equal(d.parts, parts) {
		t.Errorf("%+v, decided with the parts %v", decision, d.parts)
	}
	a.Advance(c.Needs.Period)
	propose(before + 2)
	d.err = loadline.ErrNoData
	if decision := a.Follow(&d); !errors.Is(decision.Err, loadline.ErrNoData) || len(decision.Plan.Services) != 0 {
		t.Errorf("a policy without data: %+v", decision)
	}
	a.Advance(c.Needs.Period)
	if got := a.Situation().Allocation[0].Replicas; got != before+1 {
		t.Errorf("%d replicas, want %d", got, before+1)
	}
	a.Act(loadline.Proposal{})
	if d.asked != 2 {
		t.Errorf("the policy was asked %d times, want 2: Act does not ask it", d.asked)
	}
}

// frozen is a guard that lets no replica be added or removed. It counts the checks
// of its episode.
type frozen struct{ checks *int }

func (frozen) Name() string { return "frozen" }

func (f frozen) Check(_ time.Time, s loadline.Situation, service int, want loadline.Setting) (loadline.Setting, string) {
	*f.checks++
	if want.Replicas.Set {
		want.Replicas = loadline.Some(s.InFlight[service].Replicas)
	}
	return want, "no change is allowed"
}

// TestAGuardedAgentLearnsFromWhatWasApplied: with a guard that changes nothing, every
// action becomes the one that keeps, with that one's reward.
func TestAGuardedAgentLearnsFromWhatWasApplied(t *testing.T) {
	const fewer, same, more = 0, 1, 2
	problem, err := formulation.NewProblem("scaling-ops", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	made, checks := 0, 0
	config := ServiceEnvConfig{
		Problem: problem, Steps: 3,
		Scenarios: ServiceScenarios(formulation.NewTopology(configOf(t).App), steady(60), time.Hour)[:1],
	}
	guarded := config
	guarded.Guards = func() []loop.Guard { made++; return []loop.Guard{frozen{&checks}} }
	play := func(config ServiceEnvConfig, choices ...int) (applied []int, rewards []float64, observation []float32) {
		e, err := NewServiceEnv(config)
		if err != nil {
			t.Fatal(err)
		}
		observation = make([]float32, e.Spaces().Observation)
		e.Reset(rand.New(rand.NewPCG(3, 1)), observation)
		for _, choice := range choices {
			action := rl.Action{Choice: choice}
			rewards = append(rewards, e.Step(&action, observation).Reward)
			applied = append(applied, action.Choice)
		}
		return applied, rewards, observation
	}
	_, want, wantSeen := play(config, same, same, same)
	got, rewards, seen := play(guarded, more, fewer, more)
	if !slices.Equal(got, []int{same, same, same}) {
		t.Errorf("the actions to learn from are %v, the guard let only %d through", got, same)
	}
	if !slices.Equal(rewards, want) || !slices.Equal(seen, wantSeen) {
		t.Errorf("rewards %v and observation %v, those of what was applied are %v and %v", rewards, seen, want, wantSeen)
	}
	if free, rewards, _ := play(config, more, fewer, more); slices.Equal(rewards, want) || !slices.Equal(free, []int{more, fewer, more}) {
		t.Errorf("without a guard the actions are %v with rewards %v", free, rewards)
	}
	if made != 1 || checks != 3 {
		t.Errorf("%d guards for 1 episode, %d checks in 3 steps", made, checks)
	}
}

func TestTheSameSeedIsTheSameEpisode(t *testing.T) {
	c := configOf(t)
	c.Resize, c.Noise.Users = RandomSize, true
	one, other, another := begin(t, c, 1, NoCulprit), begin(t, c, 1, NoCulprit), begin(t, c, 2, NoCulprit)
	p99 := func(a *Arena) float64 { return a.Situation().Now().Services[0].Latency.P99.Value }
	if p99(one) != p99(other) || p99(one) == p99(another) {
		t.Errorf("%v, %v, and %v of another seed", p99(one), p99(other), p99(another))
	}
	if one.App().Services[0].Size == c.App.Services[0].Size {
		t.Error("the size is the application's own")
	}
	other.Begin(rand.New(rand.NewPCG(1, 1)), NoCulprit) // again, in the same arena
	if p99(one) != p99(other) {
		t.Errorf("%v, and %v the second time", p99(one), p99(other))
	}
}

func TestACulpritIsUnderprovisioned(t *testing.T) {
	c := configOf(t)
	culprit := c.App.ServiceIndex("reviews")
	for seed := range uint64(5) {
		s := begin(t, c, seed, culprit).Situation()
		full := func(i int) float64 {
			return s.Now().Services[i].CPU.Value / (float64(s.Allocation[i].Replicas) * s.Allocation[i].Size.CPULimit)
		}
		if full(culprit) < 0.85 {
			t.Errorf("seed %d: the culprit is at %.2f of its limit", seed, full(culprit))
		}
		if front := c.App.ServiceIndex("productpage"); full(front) > 0.85 {
			t.Errorf("seed %d: another service is at %.2f of its limit", seed, full(front))
		}
	}
}

func TestEpisodesCanBeLengthenedAndShortened(t *testing.T) {
	a := begin(t, configOf(t), 1, NoCulprit)
	undo := a.Lengthen(1_000_000)
	if got, want := a.episode(), time.Hour; got > want || got < want-time.Minute {
		t.Errorf("an episode of %v in a load of %v", got, want)
	}
	undo()
	undo = a.Shorten(2)
	a.Act(loadline.Proposal{})
	a.Act(loadline.Proposal{})
	if !a.Over() {
		t.Error("not over after 2 steps")
	}
	if undo(); a.Over() {
		t.Error("over after 2 steps of 5")
	}
}

func TestInvalidArenasAreRejected(t *testing.T) {
	c := configOf(t)
	c.Steps, c.Duration, c.Needs.Delay = 0, time.Second, -time.Second
	_, err := NewArena(c)
	if err == nil || strings.Count(err.Error(), "arena: ") != 3 {
		t.Errorf("%v", err)
	}
}

func TestForecastsUseOnlyWhatWasMeasured(t *testing.T) {
	c := configOf(t)
	f := ForecastSpec{
		Step: time.Minute, Span: time.Minute, Whole: true, Task: forecast.Task{Horizons: []int{1, 2}, Levels: []float64{0.5}},
		Config: func(seed uint64) forecast.GRUConfig {
			return forecast.GRUConfig{Window: 5, Hidden: 4, Members: 1, Epochs: 5, Patience: 2, Seed: seed}
		},
	}
	none := func(float64) {}
	if _, a, _, err := FitForecasts(t.Context(), Scenario{App: c.App, Load: ramp{}, Duration: time.Hour}, 1, f, none); a != nil ||
		err != nil {
		t.Errorf("a short load has %v, %v", a, err)
	}
	models, a, faults, err := FitForecasts(t.Context(), Scenario{App: c.App, Load: ramp{}, Duration: 4 * time.Hour}, 1, f, none)
	if err != nil {
		t.Fatal(err)
	}
	into := make([]loadline.Forecast, len(models))
	first := 0
	for ; len(into[0].Median) == 0 && first < 100; first++ {
		a.fill(time.Duration(first)*time.Minute, sim.Epoch, into)
	}
	if first-1 < f.Config(1).Window {
		t.Errorf("a forecast in bin %d from a window of %d", first-1, f.Config(1).Window)
	}
	for i, e := range faults {
		if !(e.MSE > 0) || !(e.Persistence > 0) || e.Service == "" {
			t.Errorf("error %d is %+v", i, e)
		}
	}
	// A ramp of 0.1 a minute that persists for two minutes is 0.2 off, of 24.9 at most.
	visited := faults[0]
	if want := math.Pow(0.2/24.9, 2); math.Abs(visited.Persistence-want) > 0.1*want {
		t.Errorf("persistence is %.3g, want %.3g", visited.Persistence, want)
	}
}
