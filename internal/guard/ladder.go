package guard

import (
	"errors"
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// Ladder is a policy that follows one of others: the model while it can be trusted, else the
// rule, else none; after a while without either it raises every service to a safe size. It
// calls both policies at all times, whichever it follows, so that their state is current
// when they are followed and the distance between them is known.
//
// The model is not followed while there is none, while it has no data, after repeated
// failures or implausible proposals, and after the error budget burned while it was
// followed; each until that has been over for a while. A Ladder must not be used
// concurrently.
type Ladder struct {
	// OnChange, if set, is called at every step on the ladder.
	OnChange func(Transition)

	set   Settings
	app   *loadline.App
	model *policyRunner // nil = there is none
	rule  *policyRunner
	beat  time.Duration // of the loop, if it is not the policies'
	needs loadline.Needs

	clock      clock
	begun      bool
	visibility visibility
	burn       *Burn

	noModel string // why there is none
	faults  int    // in a row
	blind   instant
	faulty  objection // it failed again and again
	dataOut objection // it had no data for too long
	burned  objection // the SLO suffered under it

	recovery time.Duration // of the SLO, before the model is followed again
	trusted  instant       // since when the model has been followed

	decided time.Duration // when a policy last could decide
	state   State
	steps   []Transition // the latest, oldest first

	advice  []advice // by service
	resized []bool   // by service: the model has changed the size of its replicas
}

// advice is what the rule last proposed for a service.
type advice struct {
	setting loadline.Setting
	given   instant
}

// NewLadder of a model, which may be nil, and a rule. The settings are valid.
func NewLadder(set Settings, app *loadline.App, model, rule loadline.Policy) *Ladder {
	shortest, longest := set.Burn.span()
	l := &Ladder{
		set: set, app: app, rule: &policyRunner{policy: rule},
		visibility: newVisibility(set.Data.MaxAge, len(app.Services)),
		burn:       NewBurn(app, set.Data.MaxAge, shortest, longest),
		recovery:   set.Burn.Recovery,
		state:      State{Rung: Hold, Why: "nothing has been observed yet", Recovery: set.Burn.Recovery},
		advice:     make([]advice, len(app.Services)),
		resized:    make([]bool, len(app.Services)),
	}
	l.Offer(model, "there is no model")
	return l
}

// Offer gives the ladder another model, or none and the reason. Faults of the old
// model are forgotten; a burned error budget is not, until it has recovered.
func (l *Ladder) Offer(model loadline.Policy, whyNone string) {
	l.faulty, l.dataOut, l.faults, l.blind = objection{}, objection{}, 0, instant{}
	l.model, l.noModel = nil, whyNone
	if model != nil {
		l.model, l.noModel = &policyRunner{policy: model, strict: true}, ""
	}
	l.needs = l.joinNeeds()
}

// SetBeat sets the period of the loop where it is not the policies'. A policy whose
// own period is longer is asked at that.
func (l *Ladder) SetBeat(beat time.Duration) {
	l.beat = beat
	l.needs = l.joinNeeds()
}

// joinNeeds combines the needs of both policies: the shorter period, and enough
// observations for the one that needs more.
func (l *Ladder) joinNeeds() loadline.Needs {
	both := []loadline.Needs{l.rule.policy.Needs()}
	n := both[0]
	if l.model != nil {
		model := l.model.policy.Needs()
		both = append(both, model)
		n = loadline.Needs{
			Period: min(n.Period, model.Period), Delay: max(n.Delay, model.Delay),
			Scrape: leastSet(n.Scrape, model.Scrape), Window: max(n.Window, model.Window), Lag: max(n.Lag, model.Lag),
		}
	}
	if l.beat > 0 {
		n.Period = l.beat
	}
	n.Keep = 1
	n.Forecast, n.PartialSLO = loadline.Horizon{}, false
	for _, of := range both {
		if of.Forecast.Steps > 0 {
			n.Forecast = of.Forecast // the model's, if both want one
		}
		n.PartialSLO = n.PartialSLO || of.PartialSLO
		n.Keep = max(n.Keep, (max(of.Keep, 1)-1)*strideOf(of.Period, n.Period)+1)
	}
	return n
}

func leastSet(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Name of the policies on it.
func (l *Ladder) Name() string {
	if l.model == nil {
		return "guarded " + l.rule.policy.Name()
	}
	return "guarded " + l.model.policy.Name() + ", else " + l.rule.policy.Name()
}

// Needs of both policies.
func (l *Ladder) Needs() loadline.Needs { return l.needs }

// State is the present rung, and why.
func (l *Ladder) State() State { return l.state }

// Transitions are the latest steps, oldest first. They are valid until the next
// decision.
func (l *Ladder) Transitions() []Transition { return l.steps }

// Resume takes over the state that another process left: a model that was not
// trusted before a restart is not trusted after it, until the SLO has recovered.
func (l *Ladder) Resume(was State) {
	if !was.Distrust {
		return
	}
	l.recovery = min(max(was.Recovery, l.set.Burn.Recovery), l.set.Burn.LongestRecovery)
	l.burned.raise(l.clock.at, was.Why)
	for i := range l.resized {
		l.resized[i] = true // not known after a restart
	}
	l.state = State{Rung: Rule, Since: was.Since, Why: was.Why, Distrust: true, Recovery: l.recovery}
}

// Advice implements Adviser.
func (l *Ladder) Advice(service int) (loadline.Setting, bool) {
	a := &l.advice[service]
	fresh := 2*max(l.rule.policy.Needs().Period, l.needs.Period) + l.needs.Period/2
	return a.setting, a.given.within(l.clock.at, fresh) && !l.visibility.blind[service]
}

// Forecast implements loop.Forecaster: each policy that is due runs the forecaster
// that it brings, and sees its own forecast only. It returns the one of the model,
// or of the rule where the model has none.
func (l *Ladder) Forecast(now time.Time, window []loadline.Observation) []loadline.Forecast {
	at := l.clock.advance(now)
	var forecast []loadline.Forecast
	for _, q := range l.policies() {
		if q.isDue(at, l.needs.Period) {
			q.forecast(now, l.needs.Period, window)
		}
		if len(q.stages.forecast) > 0 {
			forecast = q.stages.forecast
		}
	}
	return forecast
}

// Split implements loop.Splitter, likewise.
func (l *Ladder) Split(now time.Time, s loadline.Situation) []loadline.SLO {
	at := l.clock.advance(now)
	parts := s.PartialSLO
	for _, q := range l.policies() {
		if q.isDue(at, l.needs.Period) {
			q.split(now, l.needs.Period, s)
		}
		if len(q.stages.parts) > 0 {
			parts = q.stages.parts
		}
	}
	return parts
}

// policies on the ladder, the model last.
func (l *Ladder) policies() []*policyRunner {
	if l.model == nil {
		return []*policyRunner{l.rule}
	}
	return []*policyRunner{l.rule, l.model}
}

// Decide asks both policies, chooses the one to follow, and returns its proposal. An
// error is why nothing is decided.
func (l *Ladder) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	at := l.clock.advance(now)
	if !l.begun {
		l.begun, l.decided = true, at
		if l.state.Since.IsZero() { // unless another process has left it
			l.state.Since = now
		}
	}
	l.visibility.update(at, now, s)
	l.burn.See(now, s)

	s.Window = fillMissing(now, l.set.Data.MaxAge, l.set.Starting.Settle, s.Window)
	rule := l.sighted(l.rule.ask(at, now, l.needs.Period, s))
	l.advise(at, rule.proposal)
	var model answer
	if l.model != nil {
		model = l.sighted(l.model.ask(at, now, l.needs.Period, s))
		l.judge(at, model)
	}
	l.judgeBurn(at)

	rung, why := l.choose(at, model, rule)
	l.stand(now, rung, why)
	return l.follow(at, s, rung, model, rule)
}

var errBlind = fmt.Errorf("%w: no service has a metric", loadline.ErrNoData)

// sighted rejects a proposal that was made without any data: a policy that treats absent
// data as zero load would scale everything in.
func (l *Ladder) sighted(a answer) answer {
	if a.ok() && !l.visibility.any() {
		return answer{due: a.due, err: errBlind}
	}
	return a
}

// advise keeps what the rule proposes.
func (l *Ladder) advise(at time.Duration, rule loadline.Proposal) {
	for _, p := range rule.Services {
		l.advice[p.Service] = advice{p.Setting, instant{at, true}}
	}
}

// judge evaluates the answer of the model.
func (l *Ladder) judge(at time.Duration, model answer) {
	switch {
	case model.ok():
		l.blind = instant{}
		if model.due {
			l.faults = 0
		}
	case model.noData():
		if !l.blind.set {
			l.blind.mark(at)
		}
		if at-l.blind.at >= l.set.Data.HoldFor && !l.dataOut.open {
			l.dataOut.raise(at, fmt.Sprintf("the model has had no data for %v: %v", at-l.blind.at, model.err))
		}
	case model.due:
		if l.faults++; l.faults >= l.set.Faults.Most && !l.faulty.open {
			l.faulty.raise(at, fmt.Sprintf("the model has failed %d times in a row, the last time with: %v", l.faults, model.err))
		}
	}
	l.dataOut.consider(at, l.set.Data.Recovery, found(model.ok(), model.noData()))
	l.faulty.consider(at, l.set.Faults.Recovery, found(model.ok(), !model.noData()))
}

func found(isAway, isThere bool) finding {
	switch {
	case isAway:
		return away
	case isThere:
		return there
	}
	return unknown
}

// judgeBurn hands over to the rule when the budget burns and back when it has
// recovered. If it burns again soon after, the recovery takes twice as long.
func (l *Ladder) judgeBurn(at time.Duration) {
	b := &l.set.Burn
	kind, which, firing := l.burn.Firing(b.Windows, b.MinOver)
	if firing && !l.burned.open && l.state.Rung == Primary {
		if l.trusted.set && at-l.trusted.at >= b.LongestRecovery {
			l.recovery = b.Recovery // no burn for long
		}
		short, _, _ := l.burn.Rate(kind, which.Short)
		long, _, _ := l.burn.Rate(kind, which.Long)
		l.burned.raise(at, fmt.Sprintf("%s burned its error budget %.3g times as fast as allowed over %v and %.3g times over %v (%g "+
			"is the limit)",
			l.app.Kinds[kind].Name, short, which.Short, long, which.Long, which.Rate))
	}
	if l.burned.consider(at, l.recovery, l.burnFinding(firing)) {
		l.recovery = min(2*l.recovery, b.LongestRecovery)
	}
}

// burnFinding reports whether the budget is safe: each kind that was ever measured
// still is, and spends it no faster than allowed.
func (l *Ladder) burnFinding(firing bool) finding {
	if firing {
		return there
	}
	for _, w := range l.set.Burn.Windows {
		_, rate, _, known := l.burn.Worst(w.Short)
		switch {
		case known && rate > l.set.Burn.Recovered:
			return there
		case !known || l.burn.lost(w.Short) >= 0:
			return unknown
		}
	}
	return away
}

// SLOBurns reports whether the error budget burned over the window in which nothing is
// reduced then.
func (l *Ladder) SLOBurns() bool {
	b := &l.set.Burn
	_, rate, over, known := l.burn.Worst(b.ScaleInWindow)
	return known && rate >= b.ScaleInRate && over >= b.MinOver
}

// choose the policy to follow, with the reason in parts so that no text is built
// while nothing changes.
func (l *Ladder) choose(at time.Duration, model, rule answer) (Rung, cause) {
	why := cause{against: l.objection()}
	switch {
	case why.against == "" && model.ok():
		l.decided = at
		return Primary, why
	case why.against != "" && rule.ok():
		l.decided = at
		return Rule, why
	case why.against == "":
		why.model = model.err
	default:
		why.rule = rule.err
	}
	if at-l.decided >= l.set.Data.FloorAfter {
		return Floor, why
	}
	return Hold, why
}

// objection to the model that stands now, the worst first.
func (l *Ladder) objection() string {
	switch {
	case l.model == nil:
		return l.noModel
	case l.burned.open:
		return l.burned.why
	case l.faulty.open:
		return l.faulty.why
	case l.dataOut.open:
		return l.dataOut.why
	}
	return ""
}

// cause of being on a rung.
type cause struct {
	against     string // the model: an objection
	model, rule error  // of their answers when they were needed
}

// say it on a rung.
func (c cause) say(r Rung, set *Settings) string {
	switch {
	case r == Primary:
		return "the model is followed"
	case r == Rule:
		return c.against
	case r == Floor && c.model != nil:
		return fmt.Sprintf("no policy could decide for %v: %v", set.Data.FloorAfter, c.model)
	case r == Floor:
		return fmt.Sprintf("no policy could decide for %v: %s; and the rule: %v", set.Data.FloorAfter, c.against, c.rule)
	case c.model != nil && errors.Is(c.model, loadline.ErrNoData):
		return fmt.Sprintf("the model has no data, and if that lasts for %v the rule takes over: %v", set.Data.HoldFor, c.model)
	case c.model != nil:
		return fmt.Sprintf("the model failed, and if it does so %d times the rule takes over: %v", set.Faults.Most, c.model)
	}
	return fmt.Sprintf("%s; and the rule: %v", c.against, c.rule)
}

// stand sets the rung. Only a change of rung is a transition; the reason on the same rung
// is kept up to date.
func (l *Ladder) stand(now time.Time, rung Rung, why cause) {
	if rung == Primary && !l.trusted.set {
		l.trusted.mark(l.clock.at)
	} else if rung == Rule {
		l.trusted = instant{}
	}
	l.state.Distrust, l.state.Recovery = l.burned.open, l.recovery
	if rung == l.state.Rung {
		if rung != Primary {
			l.state.Why = why.say(rung, &l.set)
		}
		return
	}
	t := Transition{At: now, From: l.state.Rung, To: rung, Why: why.say(rung, &l.set)}
	l.state.Rung, l.state.Since, l.state.Why = rung, now, t.Why
	if len(l.steps) == keptTransitions {
		l.steps = append(l.steps[:0], l.steps[1:]...)
	}
	l.steps = append(l.steps, t)
	if l.OnChange != nil {
		l.OnChange(t)
	}
}

// follow returns the proposal of the rung, with services that have not been
// observed for long raised to their floors.
func (l *Ladder) follow(at time.Duration, s loadline.Situation, rung Rung, model, rule answer) (loadline.Proposal, error) {
	var p loadline.Proposal
	switch rung {
	case Primary:
		p = l.complete(model.proposal, rule.proposal)
		l.noteSizes(model.proposal)
	case Rule:
		p = marked(rule.proposal)
		l.restoreSizes(s.InFlight, p)
		l.advise(at, p) // what is followed is no disagreement
	}
	p = l.raise(at, rung, s.InFlight, p)
	if rung >= Hold && len(p.Services) == 0 {
		return p, fmt.Errorf("%w: %v: %s", loadline.ErrNoData, rung, l.state.Why)
	}
	return p, nil
}

// marked adds to each reason that it is the rule's, in a copy: the rule may return
// the same proposal again.
func marked(p loadline.Proposal) loadline.Proposal {
	marked := loadline.Proposal{Services: make([]loadline.ServiceProposal, len(p.Services)), Reserve: p.Reserve, Limited: p.Limited}
	for i, sp := range p.Services {
		sp.Reason = "rule: " + sp.Reason
		marked.Services[i] = sp
	}
	return marked
}
