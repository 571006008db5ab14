package rivals

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/rl"
)

// CoScal decides by a table over four levels of utilisation (present CPU, CPU forecast by
// a GRU for the next decision, memory) and whether the service is browned out (Xu et al., "CoScal: Multifaceted scaling of microservices
// with reinforcement learning", 2022). All services share the table.
type CoScal struct {
	decisionState
	period time.Duration
	table  Table
	rates  *rateForecasts
	state  *formulation.FeatureSet // inputs of the decision
	score  *formulation.FeatureSet // inputs of its reward
	values []float32
}

// CoScalPeriod is the time between two decisions.
const CoScalPeriod = 5 * time.Minute

// quarters are the edges of the four levels.
var quarters = []float64{0.25, 0.5, 0.75}

// CoScalLevels has the levels of CPU, forecast CPU, memory, and brownout.
func CoScalLevels() Levels { return Levels{4, 4, 4, 2} }

// coscalFeatures are those whose levels are the state.
var coscalFeatures = []string{"cpu", "memory_request"}

// CoScalMoves are the names of the actions, in the order of the table. The first changes nothing.
var CoScalMoves = []string{"keep", "replicas up", "replicas down", "CPU up", "CPU down", "memory up", "memory down", "brownout"}

const (
	coscalKeep = iota
	coscalOut
	coscalIn
	coscalCPUUp
	coscalCPUDown
	coscalMemoryUp
	coscalMemoryDown
	coscalBrownout
)

// Replicas and sizes change by a quarter: one replica every five minutes would not follow
// a load that doubles in that time.
const (
	coscalShare = 0.25
	coscalUp    = 1.25
	coscalDown  = 0.8
)

func newCoScal(m *Model, app *loadline.App, delay time.Duration) (*CoScal, error) {
	s, err := newDecisionState(m, app, delay, len(CoScalLevels()))
	if err != nil {
		return nil, err
	}
	state, err := formulation.NewFeatureSet(coscalFeatures...)
	if err != nil {
		return nil, err
	}
	score, err := formulation.NewFeatureSet("cpu", "memory_request", "latency")
	if err != nil {
		return nil, err
	}
	c := &CoScal{decisionState: s, period: m.Period, table: m.Table, state: state, score: score}
	if c.rates, err = newRateForecasts(m, s.at); err != nil {
		return nil, err
	}
	return c, nil
}

// Name implements loadline.Policy.
func (c *CoScal) Name() string { return string(CoScalName) }

// Needs implements loadline.Policy.
func (c *CoScal) Needs() loadline.Needs {
	return loadline.Needs{
		Period: c.period, Scrape: 15 * time.Second, Window: min(time.Minute, c.period), Delay: c.delay, Keep: 1,
		Forecast: c.rates.horizon(), PartialSLO: true,
	}
}

// Forecast implements loop.Forecaster with the model's forecasters.
func (c *CoScal) Forecast(now time.Time, window []loadline.Observation) []loadline.Forecast {
	return c.rates.forecast(now, &window[len(window)-1])
}

// Spaces implements Rival.
func (c *CoScal) Spaces() rl.Spaces {
	return rl.Spaces{Observation: len(CoScalLevels()), Choices: len(CoScalMoves)}
}

// Begin implements Rival.
func (c *CoScal) Begin() {
	c.forget()
	c.rates.begin()
}

// Decide implements loadline.Policy. Each service is decided for by itself.
func (c *CoScal) Decide(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
	c.forget()
	var proposal loadline.Proposal
	absent := ""
	for i, at := range c.at {
		if at < 0 {
			continue
		}
		if missing := c.see(s, i); missing != "" {
			absent = fmt.Sprintf("%s of %s", missing, s.App.Services[i].Name)
			continue
		}
		action := rl.Action{Choice: c.table.best(CoScalLevels(), c.observed[i])}
		if c.choose != nil {
			c.choose(i, c.observed[i], &action)
		}
		setting, moved := c.move(s, i, action.Choice)
		if !moved {
			action.Choice = coscalKeep
		} else {
			proposal.Services = append(proposal.Services, loadline.ServiceProposal{
				Service: i, Setting: setting, RunnerUp: c.runnerUp(s, i, action.Choice),
				Reason: fmt.Sprintf("%s, expected CPU in quarter %.0f: the table has %s",
					formulation.Describe(s.Now().Services[i].Rate, coscalFeatures, func(k int) float64 { return float64(c.values[k]) }),
					1+c.observed[i][1], CoScalMoves[action.Choice]),
			})
		}
		c.taken = append(c.taken, Taken{i, action})
	}
	if !c.anyKnown() {
		return proposal, c.noData(absent)
	}
	return proposal, nil
}

// runnerUp is the second choice of the table, if it has one.
func (c *CoScal) runnerUp(s loadline.Situation, service, best int) *loadline.Alternative {
	choice, less := c.table.second(CoScalLevels(), c.observed[service], best)
	if choice < 0 {
		return nil
	}
	setting, _ := c.move(s, service, choice)
	return &loadline.Alternative{Setting: setting, Reason: fmt.Sprintf("%s, valued %.3g less", CoScalMoves[choice], less)}
}

// see computes the levels of a service.
func (c *CoScal) see(s loadline.Situation, service int) (absent string) {
	c.values, absent = c.state.Append(c.topology, s, service, c.values[:0])
	if absent != "" {
		return absent
	}
	cpu, memory := float64(c.values[0]), float64(c.values[1])
	browned := float32(0)
	if s.InFlight[service].Brownout {
		browned = 1
	}
	c.observed[service] = append(c.observed[service][:0], level(cpu, quarters...), level(cpu*c.growth(s, service), quarters...),
		level(memory, quarters...), browned)
	c.known[service] = true
	return ""
}

// growth is the forecast rate over the present one; 1 without a forecast.
func (c *CoScal) growth(s loadline.Situation, service int) float64 {
	rate := visits(&s.Now().Services[service])
	if len(s.Forecast) <= service || len(s.Forecast[service].Median) == 0 || rate.Or(0) <= 0 {
		return 1
	}
	return s.Forecast[service].Median[0].Value / rate.Value
}

// visits is the rate of visits including those that were dropped.
func visits(o *loadline.ServiceObservation) loadline.Sample {
	v := o.Rate
	if v.Present() {
		v.Value += o.Dropped.Or(0)
	}
	return v
}

func (c *CoScal) move(s loadline.Situation, service, choice int) (loadline.Setting, bool) {
	desired := s.InFlight[service]
	quarter := max(1, int(math.Round(coscalShare*float64(desired.Replicas))))
	used := memoryOf(&s.Now().Services[service])
	switch choice {
	case coscalOut:
		return c.moves.replicas(service, desired, quarter)
	case coscalIn:
		return c.moves.replicas(service, desired, -quarter)
	case coscalCPUUp:
		return c.moves.cpu(service, desired, coscalUp)
	case coscalCPUDown:
		return c.moves.cpu(service, desired, coscalDown)
	case coscalMemoryUp:
		return c.moves.memory(service, desired, used, coscalUp)
	case coscalMemoryDown:
		return c.moves.memory(service, desired, used, coscalDown)
	case coscalBrownout:
		return c.moves.brownout(service, desired)
	}
	return loadline.Setting{}, false
}

// Constants of the reward: the target utilisation and the weight of dropped calls. They
// are those of DRPC, so that all methods have the same target.
const (
	preferredCPU    = 0.60
	preferredMemory = 0.75
	droppedWeight   = 3
)

// Reward implements Rival: R_qos/R_util of the service itself, less what was
// dropped.
func (c *CoScal) Reward(s loadline.Situation, service int) (float64, bool) {
	var absent string
	if c.values, absent = c.score.Append(c.topology, s, service, c.values[:0]); absent != "" {
		return 0, false
	}
	cpu, memory, over := float64(c.values[0]), float64(c.values[1]), float64(c.values[2])
	qos := 1.0
	if over > 1 {
		qos = math.Exp(-(over - 1) * (over - 1))
	}
	away := func(d float64) float64 { d = math.Abs(d); return d * d * d }
	reward := qos / (1 + away(preferredCPU-min(cpu, fullest)) + away(preferredMemory-min(memory, fullest)))
	o := &s.Now().Services[service]
	if all := visits(o); all.Or(0) > 0 {
		reward -= droppedWeight * o.Dropped.Or(0) / all.Value * s.App.Services[service].OptionalPrice
	}
	return reward, true
}

// fullest limits the utilisation in the reward.
const fullest = 2
