package rivals

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/rl"
)

// ASARSA scales horizontally by a table over the CPU utilisation and the response
// time that ARIMA forecasts for the next step (Zhang et al., "A-SARSA: A predictive
// container auto-scaling algorithm based on reinforcement learning", 2020). All
// services share the table. A loop.Forecaster forecasts visits, A-SARSA does not, so its
// forecasts are part of Decide.
type ASARSA struct {
	decisionState
	period time.Duration
	table  Table
	ahead  []Forecasts // by service
	sight  *formulation.FeatureSet
	values []float32
}

// ASARSAPeriod is the time between two decisions.
const ASARSAPeriod = time.Minute

// mostReplicas is the largest change by one action.
const mostReplicas = 10

// ASARSALevels has ten levels of CPU, and of response time four below the SLA and two
// above.
func ASARSALevels() Levels { return Levels{10, 6} }

var (
	cpuEdges      = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}
	responseEdges = []float64{0.25, 0.5, 0.75, 1, 1.5}
)

// ASARSAChoices is the number of actions.
const ASARSAChoices = 2*mostReplicas + 1

// ReplicasOf is the change of replicas by a choice: 0, -1, +1, -2, +2 and so on.
func ReplicasOf(choice int) int {
	n := (choice + 1) / 2
	if choice%2 == 1 {
		return -n
	}
	return n
}

// choiceOf is the inverse of ReplicasOf.
func choiceOf(replicas int) int {
	if replicas < 0 {
		return -2*replicas - 1
	}
	return 2 * replicas
}

func newASARSA(m *Model, app *loadline.App, delay time.Duration) (*ASARSA, error) {
	s, err := newDecisionState(m, app, delay, len(ASARSALevels()))
	if err != nil {
		return nil, err
	}
	sight, err := formulation.NewFeatureSet("cpu_limit", "latency")
	if err != nil {
		return nil, err
	}
	a := &ASARSA{decisionState: s, period: m.Period, sight: sight, table: m.Table, ahead: make([]Forecasts, len(app.Services))}
	for i, at := range s.at {
		if at < 0 {
			continue
		}
		var fits Fits
		if len(m.ARIMA) > 0 {
			fits = m.ARIMA[at]
		}
		if a.ahead[i], err = newExpects(fits); err != nil {
			return nil, fmt.Errorf("forecasts of %s: %w", app.Services[i].Name, err)
		}
	}
	return a, nil
}

// Name implements loadline.Policy.
func (a *ASARSA) Name() string { return string(ASARSAName) }

// Needs implements loadline.Policy.
func (a *ASARSA) Needs() loadline.Needs {
	return loadline.Needs{
		Period: a.period, Scrape: 15 * time.Second, Window: max(30*time.Second, a.period), Delay: a.delay, Keep: 1, PartialSLO: true,
	}
}

// Spaces implements Rival.
func (a *ASARSA) Spaces() rl.Spaces {
	return rl.Spaces{Observation: len(ASARSALevels()), Choices: ASARSAChoices}
}

// Begin implements Rival.
func (a *ASARSA) Begin() {
	a.forget()
	for i := range a.ahead {
		a.ahead[i].begin()
	}
}

// Decide implements loadline.Policy.
func (a *ASARSA) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	a.forget()
	var proposal loadline.Proposal
	absent := ""
	for i, at := range a.at {
		if at < 0 {
			continue
		}
		cpu, response, missing := a.see(s, i)
		if missing != "" {
			absent = fmt.Sprintf("%s of %s", missing, s.App.Services[i].Name)
			continue
		}
		action := rl.Action{Choice: a.table.best(ASARSALevels(), a.observed[i])}
		if a.choose != nil {
			a.choose(i, a.observed[i], &action)
		}
		desired := s.InFlight[i]
		setting, moved := a.moves.replicas(i, desired, ReplicasOf(action.Choice))
		if moved {
			proposal.Services = append(proposal.Services, loadline.ServiceProposal{
				Service: i, Setting: setting, RunnerUp: a.runnerUp(i, desired, action.Choice),
				Reason: fmt.Sprintf("CPU expected at %.0f %% of the limit, latency at %.0f %% of its part of the SLO: the table has %+d replicas",
					100*cpu, 100*response, setting.Replicas.Value-desired.Replicas),
			})
		}
		// A bound may have limited the change, or, with fewer replicas than allowed, have
		// made it larger than any action.
		applied := min(max(setting.Replicas.Value-desired.Replicas, -mostReplicas), mostReplicas)
		a.taken = append(a.taken, Taken{i, rl.Action{Choice: choiceOf(applied)}})
	}
	if !a.anyKnown() {
		return proposal, a.noData(absent)
	}
	return proposal, nil
}

// runnerUp is the second choice of the table, if it has one.
func (a *ASARSA) runnerUp(service int, desired loadline.Allocation, best int) *loadline.Alternative {
	choice, less := a.table.second(ASARSALevels(), a.observed[service], best)
	if choice < 0 {
		return nil
	}
	setting, _ := a.moves.replicas(service, desired, ReplicasOf(choice))
	return &loadline.Alternative{Setting: setting, Reason: fmt.Sprintf("%+d replicas, valued %.3g less", ReplicasOf(choice), less)}
}

// see forecasts a service: the CPU in use over what its desired replicas may use, and its
// response time over its part of the SLO.
func (a *ASARSA) see(s loadline.Situation, service int) (cpu, response float64, absent string) {
	o := &s.Now().Services[service]
	over := loadline.Sample{}
	if a.values, absent = a.sight.Append(a.topology, s, service, a.values[:0]); absent == "" {
		over = loadline.Sample{Value: float64(a.values[1]), At: s.Now().At}
	}
	a.ahead[service].observe(o.CPU, over)
	if absent != "" {
		return 0, 0, absent
	}
	cores, response := a.ahead[service].expected(o.CPU.Value, over.Value)
	desired := s.InFlight[service]
	cpu = cores / (float64(max(desired.Replicas, 1)) * capacity(desired.Size))
	a.observed[service] = append(a.observed[service][:0], level(cpu, cpuEdges...), level(response, responseEdges...))
	a.known[service] = true
	return cpu, response, ""
}

// Reward implements Rival: the utilisation while the response time is within its part of
// the SLO, and otherwise the negative ratio of the two. It uses observed values, not
// forecasts.
func (a *ASARSA) Reward(s loadline.Situation, service int) (float64, bool) {
	var absent string
	if a.values, absent = a.sight.Append(a.topology, s, service, a.values[:0]); absent != "" {
		return 0, false
	}
	if over := float64(a.values[1]); over > 1 {
		return -min(over, worstOver), true
	}
	return min(float64(a.values[0]), 1), true
}

// worstOver limits the penalty of a late response.
const worstOver = 3
