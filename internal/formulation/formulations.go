package formulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/suggest"
)

// Formulation is a scaling problem as one paper poses it: what is seen, what can
// be done, how often, and what it is worth.
type Formulation struct {
	Name, About string
	Period      time.Duration // between decisions
	Window      time.Duration // over which rates and quantiles are taken
	Keep        int           // observations that trends look back on
	Features    []string
	Moves       []Move
	Params      []Param // of the reward and the moves
	PerService  bool    // one network for each service; else one that serves all

	reward func(*outcome, map[string]float64) float64
}

// formulations by name.
var formulations = []Formulation{
	{
		Name:   "scaling-ops",
		About:  "Scaling-Ops: CPU, requests and replicas; one replica more, less, or none; CPU + delay bonus - 0.3 replicas",
		Period: time.Minute, Window: time.Minute, Keep: 1,
		Features: []string{"cpu", "rate", "replicas"},
		Moves:    stepMoves, Params: scalingOpsParams, PerService: true, reward: scalingOpsReward,
	},
	{
		Name:   "elastic-dqn",
		About:  "Elastic-DQN: CPU, memory, queue, depth in the call chain and more; out, in or keep; -l1 latency - l2 cost",
		Period: 30 * time.Second, Window: time.Minute, Keep: 3,
		Features: []string{"cpu_limit", "memory", "queue", "depth", "concurrency", "latency_mean", "errors", "fill", "starting", "trend"},
		Moves:    stepMoves, Params: elasticParams, reward: elasticReward,
	},
	{
		Name:   "serverless-horizontal",
		About:  "serverless, containers: latency percentiles, CPU, memory, throughput; one container more, less, or none every 10 s",
		Period: 10 * time.Second, Window: 30 * time.Second, Keep: 1,
		Features: []string{"latency_p50", "latency_p90", "latency_p99", "cpu_idle", "cpu_limit", "memory_free", "throughput", "fill",
			"starting", "held"},
		Moves: stepMoves, Params: serverlessParams, PerService: true, reward: serverlessReward,
	},
	{
		Name:   "serverless-vertical",
		About:  "serverless, CPU: the same state; the CPU limit up by a quarter, down by a fifth, or kept every 10 s",
		Period: 10 * time.Second, Window: 30 * time.Second, Keep: 1,
		Features: []string{"latency_p50", "latency_p90", "latency_p99", "cpu_idle", "cpu_limit", "memory_free", "throughput", "size"},
		Moves:    verticalMoves, Params: serverlessParams, PerService: true, reward: serverlessReward,
	},
	{
		Name: "loadline-dqn",
		About: "Loadline's own DQN: load by the model, its trend, latency over budget; chooses how full the replicas may be, and " +
			"lets what they ask for follow what they use",
		Period: 15 * time.Second, Window: 30 * time.Second, Keep: 21,
		Features: []string{"load", "need", "cpu_limit", "latency", "starting", "trend", "trend_5m", "fill"},
		Moves:    fillMoves, Params: costParams, reward: costReward,
	},
}

// formerNames of formulations, which model files may still have.
var formerNames = map[string]string{"loadline": "loadline-dqn"}

// NameNow is the name of a formulation that may go by a former one.
func NameNow(name string) string {
	if now, renamed := formerNames[name]; renamed {
		return now
	}
	return name
}

// Formulations that are known.
func Formulations() []Formulation { return slices.Clone(formulations) }

// FormulationNames lists them.
func FormulationNames() []string {
	names := make([]string, len(formulations))
	for i := range formulations {
		names[i] = formulations[i].Name
	}
	return names
}

// FormulationNamed finds one.
func FormulationNamed(name string) (*Formulation, error) {
	for i := range formulations {
		if formulations[i].Name == name {
			return &formulations[i], nil
		}
	}
	return nil, fmt.Errorf("unknown formulation %q%s", name, suggest.Hint(name, FormulationNames()))
}
