package policy

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/loadline/loadline"
)

// Oracle follows a schedule that is made before the run from the request rate at every instant,
// though not from the arrival times of single requests: it shows the gain of a perfect
// forecast.
//
// Every service gets, in each step of 5 s, the fewest replicas that keep the CPU work of that
// step at or below a level, a share of their CPU limits. Replicas are started ahead by their
// start-up time, and kept over a pause that is too short to start them again.
//
// With axes=replicas+cpu it also sets sizes: the smallest request and the largest limit.
//
// This is a plan that is computed from the load, and how simulate runs the oracle. A bench
// searches for a cheaper schedule (bench.SearchSchedule), which starts from such plans and from
// what other policies did, and is played by Scheduled.
type Oracle struct {
	app      *loadline.App
	cpu      bool
	level    []float64 // by service
	lead     float64   // factor on the start-up times
	ignore   time.Duration
	start    time.Time
	schedule [][]int // by service, then step; nil = SetFuture was not called
}

const oracleStep = 5 * time.Second

var oracleMethod = Method{
	Name:   "oracle",
	Alias:  "clairvoyant",
	About:  "is given the request rates in advance: the reference for all others. bench searches its schedule; elsewhere it plans at a level",
	Oracle: true,
	Options: func(app *loadline.App) []Option {
		options := []Option{
			{"axes", "replicas", "what it may set: replicas, or replicas+cpu", OneOf("replicas", "replicas+cpu")},
			{"level", "0.5", "CPU work to plan for, as a share of the limits of all replicas", Number(0.01, 100)},
			{"lead", "1", "factor on the time that pods need to start", Number(0, 1000)},
			{"ignore", "0s", "do not scale for anything that lasts shorter", Span(0, time.Hour)},
		}
		for _, s := range app.Services {
			if !isOption(options, s.Name) {
				options = append(options, Option{s.Name, "", "level of this service", Number(0.01, 100)})
			}
		}
		return options
	},
	New: func(app *loadline.App, v Values) (loadline.Policy, error) {
		p := &Oracle{
			app: app, cpu: v["axes"] == "replicas+cpu", level: make([]float64, len(app.Services)),
			lead: v.Float("lead"), ignore: v.Span("ignore"),
		}
		for i, s := range app.Services {
			p.level[i] = v.Float("level")
			if level, err := strconv.ParseFloat(v[s.Name], 64); err == nil {
				p.level[i] = level
			}
		}
		return p, nil
	},
}

// Name of the policy.
func (*Oracle) Name() string { return "oracle" }

// Needs no metrics; the figures are those of a usual Prometheus.
func (*Oracle) Needs() loadline.Needs {
	return loadline.Needs{Period: oracleStep, Scrape: 15 * time.Second, Window: 15 * time.Second}
}

// Rate is the load of a run: requests per second of a kind (index into App.Kinds)
// at an instant since its start, constant until the returned one.
type Rate func(kind int, t time.Duration) (perSecond float64, until time.Duration)

// DemandChange is a future version with another CPU demand.
type DemandChange struct {
	At      time.Duration
	Service int
	Factor  float64
}

// SetFuture gives the policy the load of the whole run, and the changes of the services'
// demands.
func (p *Oracle) SetFuture(start time.Time, duration time.Duration, rate Rate, changes []DemandChange) {
	p.start = start
	steps := int((duration + oracleStep - 1) / oracleStep)
	work := workPerRequest(p.app, true)
	cores := make([][]float64, len(p.app.Services)) // by service, then step
	for s := range cores {
		cores[s] = make([]float64, steps)
	}
	for k := range p.app.Kinds {
		for i := range steps {
			from := time.Duration(i) * oracleStep
			mean := requestsWithin(rate, k, from, from+oracleStep) / oracleStep.Seconds()
			for s := range cores {
				cores[s][i] += mean * work[k][s].mean
			}
		}
	}
	for _, c := range changes {
		for i := int(c.At / oracleStep); i < steps; i++ {
			cores[c.Service][i] *= c.Factor
		}
	}
	p.schedule = make([][]int, len(cores))
	for s := range cores {
		p.schedule[s] = p.plan(s, cores[s])
	}
}

// requestsWithin is the expected number of requests of a kind in [from, to).
func requestsWithin(rate Rate, kind int, from, to time.Duration) float64 {
	sum := 0.0
	for t := from; t < to; {
		perSecond, until := rate(kind, t)
		until = min(max(until, t+1), to)
		sum += perSecond * (until - t).Seconds()
		t = until
	}
	return sum
}

// plan is one service's replicas, step by step.
func (p *Oracle) plan(service int, cores []float64) []int {
	s := &p.app.Services[service]
	capacity := p.capacity(s) * p.level[service]
	need := make([]int, len(cores))
	for i, c := range cores {
		n := int(math.Ceil(c/capacity - 1e-9))
		if c > 0 {
			n = max(n, 1)
		}
		n, _ = withinReplicas(s.Bounds, n)
		need[i] = n
	}
	need = dropShort(need, int(p.ignore/oracleStep))
	// What is started now must be ready when it is needed, even if the pod starts slowly.
	startup := p.lead * float64(s.Startup.Mean) * (1 + 2*s.Startup.CV)
	ahead := 1 + int(math.Ceil(startup/float64(oracleStep)))
	plan := make([]int, len(need))
	for i := range need {
		for _, n := range need[i:min(i+ahead+1, len(need))] {
			plan[i] = max(plan[i], n)
		}
	}
	return plan
}

// dropShort levels peaks that last for at most the given steps: the minimum over every window,
// then the maximum (a morphological opening).
func dropShort(need []int, steps int) []int {
	if steps <= 0 || steps >= len(need) {
		return need
	}
	low, out := make([]int, len(need)), make([]int, len(need))
	for i := range need {
		low[i] = need[i]
		for _, n := range need[i:min(i+steps+1, len(need))] {
			low[i] = min(low[i], n)
		}
	}
	for i := range need {
		for _, n := range low[max(0, i-steps) : i+1] {
			out[i] = max(out[i], n)
		}
	}
	return out
}

// capacity is the cores that one replica may use.
func (p *Oracle) capacity(s *loadline.Service) float64 {
	limit := s.Size.CPULimit
	if p.cpu {
		limit = s.Bounds.MaxCPU
	}
	if limit > 0 {
		return limit
	}
	most := float64(max(s.Workers, 1))
	for _, n := range p.app.Nodes {
		most = min(most, n.Cores)
	}
	return most
}

// ReplicaSteps summarises the schedule of one service: two schedules with the same figures are,
// for all practical purposes, the same.
func (p *Oracle) ReplicaSteps(service int) (sum, least int) {
	low, _ := withinReplicas(p.app.Services[service].Bounds, 0)
	for _, n := range p.schedule[service] {
		sum += n
		least += min(n, max(low, 1))
	}
	return sum, least
}

// Decide returns the settings of the schedule.
func (p *Oracle) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	var proposal loadline.Proposal
	if p.schedule == nil {
		return proposal, fmt.Errorf("%w: nothing was foreseen", loadline.ErrNoData)
	}
	step := int(now.Sub(p.start) / oracleStep)
	for i := range p.schedule {
		if step < 0 || step >= len(p.schedule[i]) {
			continue
		}
		n := p.schedule[i][step]
		sp := loadline.ServiceProposal{
			Service: i, Setting: loadline.Setting{Replicas: loadline.Some(n)},
			Reason: fmt.Sprintf("the known load needs %s at %.0f %% of their CPU limits", loadline.DescribeReplicas(n), 100*p.level[i]),
		}
		if p.cpu {
			b := s.App.Services[i].Bounds
			sp.Setting.CPURequest = loadline.Some(b.MinCPU)
			sp.Setting.CPULimit = loadline.Some(b.MaxCPU)
		}
		proposal.Services = append(proposal.Services, sp)
	}
	return proposal, nil
}
