package guard_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

// puppet is a policy that says what a test wants it to.
type puppet struct {
	name   string
	needs  loadline.Needs
	says   loadline.Proposal
	err    error
	panics bool
	asked  int
	window int // observations that it was shown last
}

func newPuppet(name string, n int) *puppet {
	return &puppet{name: name, needs: loadline.Needs{Period: 15 * time.Second}, says: loadline.Proposal{
		Services: []loadline.ServiceProposal{{Setting: toReplicas(n), Reason: name + " says so"}},
	}}
}

func (p *puppet) Name() string          { return p.name }
func (p *puppet) Needs() loadline.Needs { return p.needs }
func (p *puppet) Decide(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
	p.asked++
	p.window = len(s.Window)
	if p.panics {
		panic("index out of range")
	}
	return p.says, p.err
}

// stage is a ladder with its two policies.
type stage struct {
	*fixture
	t           *testing.T
	model, rule *puppet
	ladder      *guard.Ladder
	changes     []string
}

func newStage(t *testing.T, edit func(*guard.Settings)) *stage {
	set := guard.Defaults()
	if edit != nil {
		edit(&set)
	}
	st := &stage{fixture: newFixture(), t: t, model: newPuppet("model", 6), rule: newPuppet("rule", 9)}
	st.ladder = guard.NewLadder(set, st.App, st.model, st.rule)
	st.ladder.OnChange = func(c guard.Transition) { st.changes = append(st.changes, fmt.Sprintf("%v-%v", c.From, c.To)) }
	return st
}

// run for a while, with the SLO so far over, and return the last decision.
func (st *stage) run(d time.Duration, over float64) (loadline.Proposal, error) {
	var p loadline.Proposal
	var err error
	for end := st.now.Add(d); st.now.Before(end); st.later(15 * time.Second) {
		st.observe(100, 5, over)
		p, err = st.ladder.Decide(st.now, st.Situation)
	}
	return p, err
}

func (st *stage) runBlind(d time.Duration) (loadline.Proposal, error) {
	var p loadline.Proposal
	var err error
	for end := st.now.Add(d); st.now.Before(end); st.later(15 * time.Second) {
		st.blind()
		p, err = st.ladder.Decide(st.now, st.Situation)
	}
	return p, err
}

// on checks the rung, and that its reason says something.
func (st *stage) on(rung guard.Rung, why string) {
	st.t.Helper()
	if s := st.ladder.State(); s.Rung != rung || !strings.Contains(s.Why, why) {
		st.t.Fatalf("on %v (%s), want %v (%s); so far %v", s.Rung, s.Why, rung, why, st.changes)
	}
}

func wants(t *testing.T, p loadline.Proposal, err error, replicas int) {
	t.Helper()
	if err != nil || len(p.Services) != 1 || p.Services[0].Setting != toReplicas(replicas) {
		t.Fatalf("%+v, %v; want %d replicas", p, err, replicas)
	}
}

func TestLadderFollowsAFreshModel(t *testing.T) {
	st := newStage(t, nil)
	p, err := st.run(time.Minute, 0)
	wants(t, p, err, 6)
	st.on(guard.Primary, "the model is followed")
	if advice, known := st.ladder.Advice(0); !known || advice != toReplicas(9) {
		t.Errorf("advice %+v, %v", advice, known)
	}
	if s := st.ladder.State(); s.Since != start {
		t.Errorf("since %v", s.Since)
	}
}

func TestLadderWithoutAModel(t *testing.T) {
	st := newStage(t, nil)
	st.ladder.Offer(nil, "the model is 60 days old")
	p, err := st.run(time.Minute, 0)
	wants(t, p, err, 9)
	st.on(guard.Rule, "60 days old")
	if !strings.HasPrefix(p.Services[0].Reason, "rule: ") || st.rule.says.Services[0].Reason != "rule says so" {
		t.Errorf("reasons %q and %q", p.Services[0].Reason, st.rule.says.Services[0].Reason)
	}
	st.ladder.Offer(st.model, "")
	st.run(time.Minute, 0)
	st.on(guard.Primary, "")
}

func TestLadderWhenTheModelHasNoData(t *testing.T) {
	st := newStage(t, nil)
	st.run(time.Minute, 0)
	st.model.err = fmt.Errorf("%w: rate of web", loadline.ErrNoData)
	_, err := st.run(time.Minute, 0)
	st.on(guard.Hold, "rate of web")
	if !errors.Is(err, loadline.ErrNoData) {
		t.Errorf("err %v", err)
	}
	p, err := st.run(30*time.Second, 0)
	wants(t, p, err, 9)
	st.on(guard.Rule, "no data for 1m0s")
	st.model.err = nil
	st.run(time.Minute, 0)
	st.on(guard.Rule, "no data")
	st.run(2*time.Minute, 0)
	st.on(guard.Primary, "")
	if got := strings.Join(st.changes, " "); got != "hold-primary primary-hold hold-rule rule-primary" {
		t.Errorf("%s", got)
	}
}

func TestLadderWhenNothingIsSeen(t *testing.T) {
	st := newStage(t, func(s *guard.Settings) { s.Floor = map[string]guard.Safe{"web": {Replicas: 15, CPU: 2}} })
	st.run(time.Minute, 0)
	// Both would take no data for no load.
	st.model.says.Services[0].Setting, st.rule.says.Services[0].Setting = toReplicas(1), toReplicas(1)
	_, err := st.runBlind(10 * time.Minute)
	st.on(guard.Hold, "no service has a metric")
	if !errors.Is(err, loadline.ErrNoData) {
		t.Errorf("err %v", err)
	}
	if _, known := st.ladder.Advice(0); known {
		t.Error("advice from a rule that sees nothing")
	}
	p, err := st.runBlind(6 * time.Minute)
	st.on(guard.Floor, "15m0s")
	want := loadline.Setting{Replicas: loadline.Some(15), CPULimit: loadline.Some(2.0)}
	if err != nil || len(p.Services) != 1 || p.Services[0].Setting != want {
		t.Errorf("%+v, %v; want the floor", p, err)
	}
	st.set(20)
	st.InFlight[0].Size.CPULimit = 3
	if p, err := st.runBlind(15 * time.Second); err == nil || len(p.Services) > 0 {
		t.Errorf("%+v: a floor never takes anything away", p)
	}
	st.set(0)
	if p, err := st.runBlind(15 * time.Second); err == nil || len(p.Services) > 0 {
		t.Errorf("%+v: a service at zero is so on purpose", p)
	}
	st.set(10)
	st.model.says.Services[0].Setting = toReplicas(6)
	st.run(time.Minute, 0)
	st.on(guard.Rule, "no data")
	st.run(2*time.Minute, 0)
	st.on(guard.Primary, "")
}

// TestLadderRaisesOneUnseenService while the others are scaled as ever.
func TestLadderRaisesOneUnseenService(t *testing.T) {
	sc := newFixture()
	sc.App.Services = append(sc.App.Services, loadline.Service{Name: "db", Replicas: 5})
	sc.Allocation = append(sc.Allocation, loadline.Allocation{Replicas: 3})
	sc.InFlight = append(sc.InFlight, loadline.Allocation{Replicas: 3})
	l := guard.NewLadder(guard.Defaults(), sc.App, newPuppet("model", 6), newPuppet("rule", 9))
	var p loadline.Proposal
	for range 16 {
		sc.observe(100, 5, 0) // of web alone
		p, _ = l.Decide(sc.now, sc.Situation)
		sc.later(time.Minute)
	}
	if len(p.Services) != 2 || p.Services[0].Setting != toReplicas(6) || p.Services[1].Service != 1 ||
		p.Services[1].Setting != toReplicas(5) {
		t.Errorf("%+v, want web by the model and db at its floor", p)
	}
	if l.State().Rung != guard.Primary {
		t.Errorf("on %v", l.State())
	}
}

func TestLadderWhenTheBudgetBurns(t *testing.T) {
	st := newStage(t, nil)
	st.run(time.Hour, 0)
	st.on(guard.Primary, "")
	st.run(3*time.Minute, 0.8)
	st.on(guard.Rule, "buy burned its error budget")
	if s := st.ladder.State(); !s.Distrust {
		t.Errorf("%+v", s)
	}
	st.run(15*time.Minute, 0) // ten minutes until the windows are clean, ten of recovery
	st.on(guard.Rule, "")
	st.runBlind(30 * time.Minute) // what is not measured is no recovery
	st.run(4*time.Minute, 0)
	st.on(guard.Rule, "")
	st.run(10*time.Minute, 0)
	st.on(guard.Primary, "")
	st.run(time.Minute, 0)

	// The second time the recovery takes twice as long.
	before := st.ladder.State().Recovery
	if before != 2*guard.Defaults().Burn.Recovery {
		t.Errorf("recovery %v", before)
	}
	st.run(time.Hour, 0)
	st.run(3*time.Minute, 0.8)
	st.on(guard.Rule, "")
	st.run(25*time.Minute, 0)
	st.on(guard.Rule, "")
	st.run(10*time.Minute, 0)
	st.on(guard.Primary, "")
}

// TestLadderHysteresis: between the two thresholds nothing moves either way.
func TestLadderHysteresis(t *testing.T) {
	st := newStage(t, nil)
	st.run(3*time.Hour, 0.02)
	st.on(guard.Primary, "")
	st.run(5*time.Minute, 1)
	st.on(guard.Rule, "")
	st.run(3*time.Hour, 0.02)
	st.on(guard.Rule, "")
}

func TestLadderWhenTheModelIsBroken(t *testing.T) {
	bad := func(s loadline.Setting) loadline.Proposal {
		return loadline.Proposal{Services: []loadline.ServiceProposal{{Setting: s}}}
	}
	for name, row := range map[string]struct {
		breaks func(*puppet)
		says   string
	}{
		"it fails":  {func(p *puppet) { p.err = errors.New("weights are torn") }, "weights are torn"},
		"it panics": {func(p *puppet) { p.panics = true }, "panicked: index out of range"},
		"not a number": {func(p *puppet) { p.says = bad(loadline.Setting{CPULimit: loadline.Some(math.NaN())}) },
			"CPU limit NaN for service web"},
		"below zero": {func(p *puppet) { p.says = bad(toReplicas(-1)) }, "replicas -1"},
		"absurdly many": {func(p *puppet) { p.says = bad(toReplicas(5000)) },
			"5000 replicas for service web, which has 10 and may have 40"},
		"an unknown service": {func(p *puppet) { p.says = loadline.Proposal{Services: []loadline.ServiceProposal{{Service: 7}}} },
			"service 7 of 1"},
		"one service two times": {func(p *puppet) { p.says.Services = append(p.says.Services, p.says.Services[0]) },
			"two things for service web"},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, nil)
			st.run(time.Minute, 0)
			sound := *st.model
			row.breaks(st.model)
			st.run(30*time.Second, 0)
			st.on(guard.Hold, row.says)
			p, err := st.run(15*time.Second, 0)
			wants(t, p, err, 9)
			st.on(guard.Rule, "failed 3 times in a row")
			st.on(guard.Rule, row.says)
			*st.model = sound
			st.run(9*time.Minute, 0)
			st.on(guard.Rule, "")
			st.run(90*time.Second, 0)
			st.on(guard.Primary, "")
		})
	}
}

func TestLadderWhenBothAreBroken(t *testing.T) {
	st := newStage(t, nil)
	st.set(2)
	st.run(time.Minute, 0)
	st.model.err, st.rule.panics = errors.New("weights are torn"), true
	st.run(10*time.Minute, 0)
	st.on(guard.Hold, "and the rule: it panicked")
	p, err := st.run(6*time.Minute, 0)
	st.on(guard.Floor, "no policy could decide")
	wants(t, p, err, 4) // as many as the application's model says
}

func TestLadderAsksEachAtItsOwnPeriod(t *testing.T) {
	st := newStage(t, nil)
	st.model.needs = loadline.Needs{Period: time.Minute, Keep: 3, Scrape: 30 * time.Second, Window: time.Minute}
	st.rule.needs = loadline.Needs{Period: 15 * time.Second, Keep: 2, Scrape: 15 * time.Second, Lag: 15 * time.Second, Delay: time.Second}
	st.ladder.Offer(st.model, "")
	want := loadline.Needs{Period: 15 * time.Second, Delay: time.Second, Scrape: 15 * time.Second, Window: time.Minute,
		Lag: 15 * time.Second, Keep: 9}
	if got := st.ladder.Needs(); got != want {
		t.Errorf("needs %+v, want %+v", got, want)
	}
	st.Window = make([]loadline.Observation, 9)
	st.run(10*time.Minute, 0)
	if st.model.asked != 10 || st.rule.asked != 40 {
		t.Errorf("the model was asked %d times, the rule %d times in 10 minutes", st.model.asked, st.rule.asked)
	}
	if st.model.window != 3 || st.rule.window != 2 {
		t.Errorf("the model saw %d observations, the rule %d", st.model.window, st.rule.window)
	}
	st.on(guard.Primary, "")
}

// TestLadderGivesTheRuleItsSizesBack: a rule that counts replicas was calibrated
// for replicas of one size.
func TestLadderGivesTheRuleItsSizesBack(t *testing.T) {
	st := newStage(t, nil)
	st.App.Services[0].Size = loadline.Size{CPURequest: 0.5, CPULimit: 1, MemoryRequest: 100 << 20, MemoryLimit: 200 << 20}
	st.model.says.Services[0].Setting.CPULimit = loadline.Some(4.0)
	st.run(time.Minute, 0)
	st.InFlight[0].Size.CPULimit = 4
	st.ladder.Offer(nil, "it was withdrawn")
	p, err := st.run(15*time.Second, 0)
	want := loadline.Setting{CPULimit: loadline.Some(1.0)} // and not yet from ten replicas to nine
	if err != nil || len(p.Services) != 1 || p.Services[0].Setting != want {
		t.Errorf("%+v, %v; want %+v", p, err, want)
	}
	if advice, _ := st.ladder.Advice(0); advice != want {
		t.Errorf("advice %+v: the ladder disagrees with itself", advice)
	}
	st.InFlight[0].Size.CPULimit = 1
	p, err = st.run(15*time.Second, 0)
	wants(t, p, err, 9)
	// A size that others set is left unchanged.
	st.InFlight[0].Size.CPULimit = 3
	p, err = st.run(15*time.Second, 0)
	wants(t, p, err, 9)
}

func TestLadderSurvivesARestart(t *testing.T) {
	st := newStage(t, nil)
	st.run(time.Hour, 0)
	st.run(3*time.Minute, 0.8)
	st.on(guard.Rule, "buy burned")
	kept, err := json.Marshal(st.ladder.State())
	if err != nil {
		t.Fatal(err)
	}

	again := newStage(t, nil)
	var state guard.State
	if err := json.Unmarshal(kept, &state); err != nil {
		t.Fatal(err)
	}
	again.ladder.Resume(state)
	again.run(5*time.Minute, 0)
	again.on(guard.Rule, "buy burned")
	again.run(6*time.Minute, 0)
	again.on(guard.Primary, "")

	calm := newStage(t, nil)
	calm.ladder.Resume(guard.State{Rung: guard.Primary})
	calm.run(15*time.Second, 0)
	calm.on(guard.Primary, "")
}

func TestLadderRemembersTheLatestSteps(t *testing.T) {
	st := newStage(t, nil)
	for range 30 {
		st.model.err = loadline.ErrNoData
		st.run(15*time.Second, 0)
		st.model.err = nil
		st.run(15*time.Second, 0)
	}
	steps := st.ladder.Transitions()
	if len(steps) != 16 || !steps[15].At.Equal(st.now.Add(-15*time.Second)) || steps[15].To != guard.Primary {
		t.Errorf("%d steps, the last %+v", len(steps), steps[len(steps)-1])
	}
}

func TestLadderAllocatesNothingWhileAllIsWell(t *testing.T) {
	st := newStage(t, nil)
	st.run(time.Minute, 0)
	if n := testing.AllocsPerRun(100, func() {
		st.later(15 * time.Second)
		for _, v := range []*loadline.Sample{&st.web().Rate, &st.web().CPU, &st.Now().Kinds[0].Rate, &st.Now().Kinds[0].OverSLO} {
			v.At = st.now
		}
		st.ladder.Decide(st.now, st.Situation)
	}); n > 0 {
		t.Errorf("%v allocations per decision", n)
	}
}

// What a policy wants kept free is part of the proposal of the rung that is followed.
func TestTheReserveOfThePolicyThatIsFollowedIsKept(t *testing.T) {
	st := newStage(t, nil)
	st.model.says.Reserve = loadline.Some(loadline.Room{Cores: 4})
	st.rule.says.Reserve = loadline.Some(loadline.Room{Cores: 1})
	if p, err := st.run(time.Minute, 0); err != nil || p.Reserve.Value.Cores != 4 {
		t.Errorf("%+v, %v", p.Reserve, err)
	}
	st.model.err = errors.New("broken")
	if p, err := st.run(5*time.Minute, 0); err != nil || p.Reserve.Value.Cores != 1 {
		t.Errorf("on the rule: %+v, %v", p.Reserve, err)
	}
}
