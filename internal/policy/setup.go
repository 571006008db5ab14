package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// setUp is what an operator configures around a horizontal rule: requests sized by past use,
// lifted CPU limits, replicas that a schedule keeps (floors), and placeholder pods. The rule
// itself does not change. Its settings are setupOptions, and every horizontal rule has them.
//
// Requests come from data in one of two ways. "request=cart:0.12+web:0.3" gives the figures,
// as a calibration writes them from earlier data. "request=p95" measures them: the percentile of
// what the service's ready pods use, taken once, when the rule has run for request-after.
// Nothing is known before: the application's own requests apply until then.
type setUp struct {
	loadline.Policy
	lifted   bool               // there are no CPU limits but the upper bounds
	limits   map[string]float64 // by service, cores
	requests map[string]float64 // likewise
	share    float64            // of past use that the request covers; 0 = nothing is measured
	after    time.Duration
	floors   []Floor
	reserve  float64 // cores

	use   *PodUse
	begun time.Time
	sized bool          // the measured requests are in requests
	clock time.Duration // from the times of the run to those of the floors
}

// setupOptions are the settings of setUp.
func setupOptions() []Option {
	return []Option{
		{"limits", "keep", "CPU limits: keep, lifted to the upper bound of the service, or to none without one, or cores by service " +
			"(web:1+cart:0.5)", limitSpec},
		{"request", "keep", "CPU requests: keep, a percentile of past use per pod (p95), or cores by service (web:0.3+cart:0.12)", requestSpec},
		{"request-after", "10m", "how long use is measured before a percentile becomes the request", Span(time.Minute, 10000*time.Hour)},
		{"floor", "off", "least replicas by time of day, UTC: 08:00-20:00:5, of one service 08:00-20:00:web:5, on some days " +
			"Mon-Fri/08:00-20:00:5; several joined by +", OrOff(floorSpec)},
		{"reserve", "0", "cores of placeholder pods, which keep room on nodes and give way to any other pod", Number(0, 1e6)},
	}
}

// aroundRule puts the settings around a rule; a rule without any stays as it is.
func aroundRule(app *loadline.App, v Values, rule loadline.Policy) (loadline.Policy, error) {
	p := &setUp{
		Policy: rule, lifted: v["limits"] == "lifted", after: v.Span("request-after"), floors: FloorsOf(v["floor"]), reserve: v.Float("reserve"),
	}
	p.share, p.requests = parseRequest(v["request"])
	p.limits, _ = CoresOf(v["limits"])
	var faults []error
	for setting, cores := range map[string]map[string]float64{"request": p.requests, "limits": p.limits} {
		for name := range cores {
			if app.ServiceIndex(name) < 0 {
				faults = append(faults, fmt.Errorf("%s names service %q, which the application does not have", setting, name))
			}
		}
	}
	for _, f := range p.floors {
		if f.Service != "" && app.ServiceIndex(f.Service) < 0 {
			faults = append(faults, fmt.Errorf("floor names service %q, which the application does not have", f.Service))
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	if !p.lifted && p.limits == nil && p.share == 0 && p.requests == nil && p.floors == nil && p.reserve == 0 {
		return rule, nil
	}
	if p.share > 0 {
		p.use = NewPodUse(len(app.Services))
		p.requests = map[string]float64{}
	}
	return p, errors.Join(faults...)
}

// Needs are the rule's, and the placeholder pods.
func (p *setUp) Needs() loadline.Needs {
	n := p.Policy.Needs()
	n.Reserve = p.reserve
	return n
}

// SetBegin gives the instant that the beginning of a simulation stands for: floors are by the clock.
func (p *setUp) SetBegin(simulated, real time.Time) { p.clock = real.Sub(simulated) }

// Decide adds sizes and floors to what the rule proposes. Where the rule has no data and
// nothing is left to set, there is no decision.
func (p *setUp) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	proposal, err := p.Policy.Decide(now, s)
	if err != nil && !errors.Is(err, loadline.ErrNoData) {
		return proposal, err
	}
	p.measure(now, s)
	proposal = mergeProposals(proposal, p.sizes(s, &proposal))
	p.raise(now, s, &proposal)
	if len(proposal.Services) > 0 {
		err = nil
	}
	return proposal, err
}

// measure use until it has been measured for long enough; services without a sample keep
// their requests.
func (p *setUp) measure(now time.Time, s loadline.Situation) {
	if p.share == 0 || p.sized {
		return
	}
	if p.begun.IsZero() {
		p.begun = now
	}
	if seen := p.use.Watch(s.Now()); !seen || now.Sub(p.begun) < p.after {
		return // nothing is resized while there are no data
	}
	p.sized = true
	for i := range s.App.Services {
		if cores, ok := p.use.Request(i, p.share); ok {
			p.requests[s.App.Services[i].Name] = cores
		}
	}
}

// sizes are the settings that differ from the allocation, beside what the rule proposes.
func (p *setUp) sizes(s loadline.Situation, rule *loadline.Proposal) loadline.Proposal {
	var proposal loadline.Proposal
	for i := range s.App.Services {
		of, now := &s.App.Services[i], s.InFlight[i]
		var want loadline.Setting
		limit := now.Size.CPULimit
		if p.lifted {
			limit = liftWithin(s, rule, i)
			want.CPULimit = loadline.Some(limit)
		} else if cores, given := p.limits[of.Name]; given {
			if limit = cores; of.Bounds.MaxCPU > 0 {
				limit = min(limit, of.Bounds.MaxCPU)
			}
			want.CPULimit = loadline.Some(limit)
		}
		if cores, sized := p.requests[of.Name]; sized {
			cores = max(cores, of.Bounds.MinCPU, leastRequest)
			for _, most := range []float64{of.Bounds.MaxCPU, limit} {
				if most > 0 {
					cores = min(cores, most)
				}
			}
			want.CPURequest = loadline.Some(cores)
		}
		if change := now.Changes(want); !change.Empty() {
			var why []string
			if want.CPULimit.Set {
				verb := "set"
				if p.lifted {
					verb = "lifted"
				}
				why = append(why, fmt.Sprintf("the CPU limit is %s to %.3g cores", verb, want.CPULimit.Value))
			}
			if want.CPURequest.Set {
				why = append(why, fmt.Sprintf("the CPU request is sized to %.3g cores by past use", want.CPURequest.Value))
			}
			proposal.Services = append(proposal.Services, loadline.ServiceProposal{
				Service: i, Setting: change, Reason: strings.Join(why, "; "),
			})
		}
	}
	return proposal
}

// leastRequest is the smallest request in cores: the kernel's smallest weight is that of 2 m.
const leastRequest = 0.01

// raise applies the floors of this time of day, within the bounds.
func (p *setUp) raise(now time.Time, s loadline.Situation, to *loadline.Proposal) {
	if len(p.floors) == 0 {
		return
	}
	for i := range s.App.Services {
		least := 0
		for _, f := range p.floors {
			if f.covers(now.Add(p.clock)) && (f.Service == "" || f.Service == s.App.Services[i].Name) {
				least = max(least, f.Replicas)
			}
		}
		if most := s.App.Services[i].Bounds.MaxReplicas; most > 0 {
			least = min(least, most)
		}
		at := slices.IndexFunc(to.Services, func(sp loadline.ServiceProposal) bool { return sp.Service == i })
		wanted := s.InFlight[i].Replicas
		if at >= 0 {
			wanted = to.Services[at].Setting.Replicas.Or(wanted)
		}
		if wanted >= least {
			continue
		}
		if at < 0 {
			at = len(to.Services)
			to.Services = append(to.Services, loadline.ServiceProposal{Service: i})
		}
		sp := &to.Services[at]
		sp.Setting.Replicas = loadline.Some(least)
		if sp.Reason != "" {
			sp.Reason += "; "
		}
		sp.Reason += fmt.Sprintf("at least %d replicas at this time of day", least)
	}
}
