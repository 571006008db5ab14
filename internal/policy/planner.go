package policy

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// Planner is a model of the application that is learned as it runs: how much CPU a visit costs
// each service, how many visits a request of users causes, how long pods take to be ready, and
// how the load grows. It forecasts users' requests over the time until new pods are ready, so that
// only a small share of them comes without capacity, and gives every service of the call graph the
// replicas for that load at once, before the visits arrive.
//
//	replicas = cost * visits per request * load ahead * (1 + margin) / (request * utilisation - idle)
//
// Its parts are in files of their own: planner_demand.go (CPU, visits), planner_mix.go (the kinds of
// requests), planner_forecast.go, planner_boost.go and planner_choice.go (the load),
// planner_announced.go (events), planner_lead.go (how far ahead), planner_feedback.go (the margin, and
// what limits a service), planner_callee.go (callees that cannot grow), planner_size.go and
// planner_memory.go (requests), planner_plan.go (replicas), planner_reserve.go (room on nodes),
// planner_quota.go (what the namespace allows), planner_warm.go (a history to start with).
// docs/planner.md has the equations and where every constant comes from.
type Planner struct {
	cfg      plannerConfig
	needs    loadline.Needs
	load     *loadForecast
	services []plannedService
	text     []byte       // of all reasons
	ends     []int        // of each in it
	past     *plannerPast // to learn from before the first decision; nil = none
	room     roomAhead
	mix      kindMix
	rates    []float64 // of the kinds of requests
	callers  callers
	quota    quotaPlan
}

type plannerConfig struct {
	utilisation float64
	lead        time.Duration // 0 = as learned
	downWindow  time.Duration
	// Parts that can be switched off.
	forecast, frontDoor, vertical, feedback, reserve bool

	lifted      bool // CPU limits are set around the planner
	reserveAuto bool // reserve follows ProposeReserve
}

// plannedService is what is known of one service.
type plannedService struct {
	demand serviceDemand
	starts startTimes
	margin margin
	size   sizing
	memory memorySizing
	wants  []stamped
	need   int // replicas for the load, without hysteresis
}

var plannerMethod = Method{
	Name: "planner",
	About: "plans replicas and requests by learned CPU costs and visit ratios, for the load that is expected until new pods " +
		"are ready",
	LearnsHistory: true,
	Search:        plannerSearch,
	Options:       plannerOptions,
	New: func(app *loadline.App, v Values) (loadline.Policy, error) {
		p, err := newPlanner(app, v)
		if err != nil {
			return nil, err
		}
		return aroundRule(app, v, p)
	},
}

func plannerOptions(*loadline.App) []Option {
	options := slices.Concat([]Option{
		{"shortfall", "0.2", "of users' requests that may come without capacity for them, %", Number(0.01, 50)},
		{"utilisation", "90", "of the CPU requests at that load, %", Number(10, 200)},
		{"lead", "auto", "until new pods are ready: auto = as learned from their starts", autoOr(Span(time.Second, 16*time.Minute))},
		{"down-window", "240s", "scale down to the most that was wanted in it", Span(0, time.Hour)},
		{"period", "15s", "between decisions", Span(time.Second, time.Hour)},
		{"history", "", "folder of a history to learn from before the first decision: loadline history pull or record", notEmpty},
		{"forecast", "on", "off: plan for the load now", OneOf("on", "off")},
		{"front-door", "on", "off: plan each service by its own visits, not by users' requests", OneOf("on", "off")},
		{"vertical", "on", "off: leave CPU requests as they are", OneOf("on", "off")},
		{"feedback", "on", "off: no margin by how the SLO is attained", OneOf("on", "off")},
	}, setupOptions())
	for i := range options {
		switch options[i].Key {
		case "limits":
			options[i].Default = "lifted"
		case "reserve":
			options[i] = Option{"reserve", "auto", "room on nodes for the load until a new one has come: on, off, cores that stay the same, " +
				"or auto: on in a cluster whose LoadLineClass holds a reserve", autoOr(orOn(OrOff(Number(0, 1e6))))}
		}
	}
	return options
}

// autoOr accepts "auto", or what the check does.
func autoOr(check func(string) error) func(string) error {
	return func(s string) error {
		if s == "auto" {
			return nil
		}
		return check(s)
	}
}

// orOn accepts "on", or what the check does.
func orOn(check func(string) error) func(string) error {
	return func(s string) error {
		if s == "on" {
			return nil
		}
		return check(s)
	}
}

func newPlanner(app *loadline.App, v Values) (*Planner, error) {
	p := &Planner{
		cfg: plannerConfig{
			utilisation: v.Float("utilisation") / 100, downWindow: v.Span("down-window"),
			forecast: v["forecast"] == "on", frontDoor: v["front-door"] == "on", vertical: v["vertical"] == "on", feedback: v["feedback"] == "on",
			reserve: v["reserve"] == "on", lifted: v["limits"] == "lifted", reserveAuto: v["reserve"] == "auto",
		},
		needs:    loadline.Needs{Period: v.Span("period"), Delay: time.Second, Scrape: 5 * time.Second, Window: 15 * time.Second},
		load:     newLoadForecast(v.Float("shortfall") / 100),
		services: make([]plannedService, len(app.Services)),
		mix:      newKindMix(app),
	}
	if v["lead"] != "auto" {
		p.cfg.lead = v.Span("lead")
	}
	if v["request"] != "keep" {
		p.cfg.vertical = false // requests are given
	}
	costs := costPerVisit(app)
	for i, cost := range costs {
		p.services[i].demand.cpu.begin(app.Services[i].IdleCPU, cost)
	}
	p.callers = newCallers(app, costs)
	if !v.IsSet("history") {
		return p, nil
	}
	var err error
	p.past, err = readPast(v["history"], app)
	return p, err
}

// Name of the policy.
func (*Planner) Name() string { return "planner" }

// Needs the rates of users' requests and of visits, and CPU.
func (p *Planner) Needs() loadline.Needs { return p.needs }

// Decide learns from the observation and plans all services. Without the rate of users' requests
// there is no decision; a service without figures of its own is left as it is.
func (p *Planner) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	o := s.Now()
	front, ok := reliable(userRate(o.Kinds))
	if !ok {
		return loadline.Proposal{}, fmt.Errorf("%w: the rate of users' requests was not measured", loadline.ErrNoData)
	}
	if p.past != nil {
		p.learnPast(now)
	}
	p.load.learn(now, front/factorAt(s.Announced, now))
	p.rates = p.rates[:0]
	for k := range o.Kinds {
		p.rates = append(p.rates, o.Kinds[k].Rate.Value)
	}
	p.mix.learn(p.rates)
	users := attained(s.App, o)
	p.bound(s)
	p.watchCallees(now, s, front)
	proposal := loadline.Proposal{Services: make([]loadline.ServiceProposal, 0, len(p.services))}
	p.text, p.ends = p.text[:0], p.ends[:0]
	for i := range p.services {
		seen := &o.Services[i]
		p.services[i].demand.mix = p.mix.now[i]
		p.services[i].demand.learn(now, seen, front, p.needs.Window.Seconds(), users.burning())
		p.services[i].starts.learn(now, seen.Pods)
		if sp, ok := p.plan(now, s, i, front, users); ok {
			proposal.Services = append(proposal.Services, sp)
			p.ends = append(p.ends, len(p.text))
		}
	}
	reasons, from := string(p.text), 0 // one allocation for all of them
	for i, end := range p.ends {
		proposal.Services[i].Reason, from = reasons[from:end], end
	}
	p.fit(s, &proposal)
	if len(proposal.Services) == 0 && len(p.services) > 0 {
		return loadline.Proposal{}, fmt.Errorf("%w: no service has rates and CPU to learn from", loadline.ErrNoData)
	}
	if p.cfg.reserve {
		proposal.Reserve = loadline.Some(p.room.settle(now, p.cfg.downWindow))
	}
	return proposal, nil
}

// leadOf a service: until the next decision, with the age of its metrics, and a pod's start.
func (p *Planner) leadOf(now time.Time, i int, pods []loadline.PodObservation) time.Duration {
	if p.cfg.lead > 0 {
		return p.cfg.lead
	}
	return p.beforeStart() + p.services[i].starts.quantile(now, pods)
}

// beforeStart is until the next decision, with the age of its metrics.
func (p *Planner) beforeStart() time.Duration {
	return p.needs.Period + p.needs.Delay + p.needs.Window/2
}

// aheadOf is the load to plan for: the rate of users' requests, and of visits to a service. factor
// is that of announced events.
func (p *Planner) aheadOf(i int, front float64, own loadline.Sample, lead time.Duration, factor float64) (requests, visits float64,
	ok bool) {
	requests = front
	if p.cfg.forecast {
		requests = max(factor*p.load.ahead(lead), front)
	}
	if p.cfg.frontDoor {
		visits, ok = p.services[i].demand.visitsOf(requests)
		return requests, visits, ok
	}
	visits, ok = reliable(own)
	if front > 0 {
		visits *= requests / front
	}
	return requests, visits, ok
}

// sizeOf a service's pods: the mean CPU request of those that are ready, since a resize reaches
// them one after the other; of the allocation without any.
func sizeOf(in loadline.Allocation, pods []loadline.PodObservation) float64 {
	sum, n := 0.0, 0
	for i := range pods {
		if pods[i].Phase == loadline.PodReady && pods[i].Size.CPURequest > 0 {
			sum += pods[i].Size.CPURequest
			n++
		}
	}
	switch {
	case n > 0:
		return sum / float64(n)
	case in.Size.CPURequest > 0:
		return in.Size.CPURequest
	}
	return in.Size.CPULimit
}

// whole replicas of a quotient, without those of rounding errors.
func whole(x float64) int { return int(math.Ceil(min(x, 1<<30) - 1e-9)) }
