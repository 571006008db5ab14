package slosplit

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
)

// Plan is the shares of a whole application, with instances and cost.
type Plan struct {
	Services []ServicePlan `json:"services"`
	Cost     float64       `json:"cost_cores"`      // of all instances; see InstanceCost
	Tails    []Tail        `json:"tails,omitempty"` // by kind of request, if they were measured
	Runs     int           `json:"runs"`            // number of measurements
	// Factors are the ratios of the kinds' budgets to their SLOs, if they were adjusted: tails
	// do not add.
	Factors map[string]float64 `json:"factors,omitempty"`
}

// ServicePlan is the part of one service.
type ServicePlan struct {
	Service    string  `json:"service"`
	Percentile float64 `json:"percentile,omitempty"`
	Share      float64 `json:"share_seconds,omitempty"`      // of one visit without its calls; 0 = it has none
	WithCalls  float64 `json:"with_calls_seconds,omitempty"` // of one visit with them
	Kind       string  `json:"kind,omitempty"`               // of request that gives it this share: the tightest
	Load       float64 `json:"load"`                         // visits per second
	Instances  int     `json:"instances"`
	Latency    float64 `json:"latency_seconds,omitempty"` // of a visit with these instances, by its profile
	Cost       float64 `json:"cost_cores"`
	Kept       bool    `json:"kept"` // the share can be met within the bounds
	Reason     string  `json:"reason"`

	step *Step // of the chain with the tightest share
	need int   // instances it needs; math.MaxInt if no number suffices
}

// NewPlan splits all chains and joins their shares: a service on several chains gets the
// tightest share, which is the one that needs most instances (10 ms at the 99th percentile are
// tighter than at the 95th), and of these the shortest. Every infeasible chain is reported.
func NewPlan(app *loadline.App, chains []Chain, split Splitter) (*Plan, error) {
	p := &Plan{Services: make([]ServicePlan, len(app.Services))}
	for i := range p.Services {
		s := &app.Services[i]
		p.Services[i] = ServicePlan{Service: s.Name, Instances: max(s.Bounds.MinReplicas, 0), Kept: true,
			Reason: "no request with an SLO visits it"}
	}
	var faults []error
	for c := range chains {
		chain := &chains[c]
		shares, err := split.Split(chain)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		for i := range chain.Steps {
			step := &chain.Steps[i]
			sp := &p.Services[step.Service]
			n, kept, err := step.Instances(shares[i])
			if err != nil {
				faults = append(faults, err)
				continue
			}
			need := n
			if !kept {
				need = math.MaxInt
			}
			if sp.step != nil && (need < sp.need || need == sp.need && sp.Share <= shares[i]) {
				continue
			}
			sp.Instances, sp.need, sp.Kept = n, need, kept
			sp.Share, sp.Percentile, sp.Kind, sp.Load, sp.step = shares[i], chain.Percentile, chain.Kind, step.Load, step
			sp.Reason = fmt.Sprintf("%s of %v for %s", percent(step.Visits*shares[i]/chain.Budget), seconds(chain.Budget), chain.Kind)
			if step.Visits != 1 {
				sp.Reason += fmt.Sprintf(" in %.3g visits", step.Visits)
			}
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	for i := range p.Services {
		p.Services[i].explain(&app.Services[i])
	}
	p.total()
	p.addCalls(app)
	return p, nil
}

// explain computes cost and latency of a service's instances.
func (s *ServicePlan) explain(of *loadline.Service) {
	s.Cost = float64(s.Instances) * InstanceCost(of.Size)
	if s.step == nil {
		return
	}
	s.Latency = s.step.LatencyWith(s.Instances)
	switch less := s.Instances - 1; {
	case !s.Kept && math.IsInf(s.Latency, 1):
		s.Latency = 0
		s.Reason += fmt.Sprintf(": %s cannot handle %.4g visits/s", instances(s.Instances), s.Load)
	case !s.Kept:
		s.Reason += fmt.Sprintf(": not to be had, a visit takes %v at the least", seconds(s.Latency))
	case less < s.step.Min:
		s.Reason += fmt.Sprintf(": %v with %s, the fewest allowed", seconds(s.Latency), instances(s.Instances))
	default:
		with := "too few for its load"
		if l := s.step.LatencyWith(less); !math.IsInf(l, 1) {
			with = "takes " + seconds(l).String()
		}
		s.Reason += fmt.Sprintf(": %v with %s, one less %s", seconds(s.Latency), instances(s.Instances), with)
	}
}

func instances(n int) string {
	if n == 1 {
		return "1 instance"
	}
	return fmt.Sprintf("%d instances", n)
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

func (p *Plan) total() {
	p.Cost = 0
	for i := range p.Services {
		p.Cost += p.Services[i].Cost
	}
}

// Instances by service.
func (p *Plan) Instances() []int {
	n := make([]int, len(p.Services))
	for i := range n {
		n[i] = p.Services[i].Instances
	}
	return n
}

// Partial is each service's partial SLO for a situation: the time of a visit, its calls
// included. Services without a share have the zero SLO.
func (p *Plan) Partial() []loadline.SLO {
	list := make([]loadline.SLO, len(p.Services))
	for i := range list {
		s := &p.Services[i]
		list[i] = loadline.SLO{Percentile: s.Percentile, Latency: time.Duration(s.WithCalls * float64(time.Second))}
	}
	return list
}

// Shares are the same for a file, without the services that have none.
func (p *Plan) Shares() *formulation.Shares {
	shares := &formulation.Shares{Services: []formulation.Share{}}
	for i := range p.Services {
		if s := &p.Services[i]; s.WithCalls > 0 {
			shares.Services = append(shares.Services, formulation.Share{Service: s.Service, Percentile: s.Percentile,
				Latency: s.WithCalls})
		}
	}
	return shares
}

// addCalls computes the time of visits with their calls: the tightest over all call trees, and
// never more than the SLO of the requests.
func (p *Plan) addCalls(app *loadline.App) {
	for i := range p.Services {
		p.Services[i].WithCalls = 0
	}
	var walk func(c *loadline.Call, slo float64) float64
	walk = func(c *loadline.Call, slo float64) float64 {
		s := &p.Services[c.Service]
		sum := s.Share
		for _, stage := range c.Stages {
			longest := 0.0
			for i := range stage {
				longest = max(longest, float64(stage[i].Times)*walk(&stage[i], slo))
			}
			sum += longest
		}
		sum = min(sum, slo)
		if s.step != nil && (s.WithCalls == 0 || sum < s.WithCalls) {
			s.WithCalls = sum
		}
		return sum
	}
	for k := range app.Kinds {
		if slo := app.Kinds[k].SLO.Latency.Seconds(); slo > 0 {
			walk(&app.Kinds[k].Root, slo)
		}
	}
}
