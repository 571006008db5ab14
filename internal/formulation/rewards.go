package formulation

import "math"

// Param is a constant of a reward that users may change.
type Param struct {
	Name    string
	Default float64
	About   string
}

// outcome is what a reward judges: the service after the step, and what the step
// cost.
type outcome struct {
	view
	Spend
}

// over is the share of the visits that were over the SLO.
func (o *outcome) over() float64 {
	// Users' own figures, where there is one kind and one service; else whether
	// the budget was broken.
	if now := o.situation.Now(); len(now.Kinds) == 1 && len(now.Services) == 1 && now.Kinds[0].OverSLO.Present() {
		return now.Kinds[0].OverSLO.Value
	}
	if late, ok := o.overBudget(o.latency()); ok && late > 1 {
		return 1
	}
	return 0
}

// ScalingOpsReward is equations 1 and 2 of Scaling-Ops. CPU is the utilisation of
// the request; delay and SLA are in seconds, penalty and weight are constants of
// the paper's experiment.
func ScalingOpsReward(cpu, delay, sla, replicas, weight, penalty float64) float64 {
	bonus := penalty
	if delay < sla {
		bonus = 1 / (1 + delay/sla)
	}
	return cpu + bonus - weight*replicas
}

var scalingOpsParams = []Param{
	{"weight", 0.3, "what a replica costs (0.3 in the paper)"},
	{"penalty", -2, "what counts instead of the bonus when the delay is over the SLA (-2 in the paper)"},
}

func scalingOpsReward(o *outcome, p map[string]float64) float64 {
	cpu, _ := per(o.observed.CPU, o.serving()*o.requested())
	return ScalingOpsReward(cpu, o.observed.Latency.Mean.Or(0), o.budget.Latency.Seconds(), o.Replicas, p["weight"], p["penalty"])
}

// elasticReward is Elastic-DQN's -l1*latency - l2*cost. Both are ratios here:
// the mean response time over the budget (at most 10), and the cores that were
// paid for over the most that the bounds allow.
func elasticReward(o *outcome, p map[string]float64) float64 {
	latency, _ := o.overBudget(o.observed.Latency.Mean)
	b := o.service.Bounds
	cost := o.Replicas / float64(max(b.MaxReplicas, 1))
	return -p["latency"]*latency - p["cost"]*cost
}

var elasticParams = []Param{
	{"latency", 1, "l1: what the mean response time weighs, in budgets"},
	{"cost", 1, "l2: what the cost weighs, in the largest allowed"},
}

// serverlessReward penalises CPU, as the paper says and its code does not: the
// code's form is that of cpu=0.
func serverlessReward(o *outcome, p map[string]float64) float64 {
	late, _ := o.overBudget(o.latency())
	quality := -1.0
	if late <= 1 {
		quality = 1 - math.Pow(late, 0.4)
	}
	b := o.service.Bounds
	return quality - p["cpu"]*o.Replicas*o.CPU/max(float64(b.MaxReplicas)*b.MaxCPU, 1e-9)
}

var serverlessParams = []Param{{"cpu", 1,
	"what the CPU that is held weighs, in the most that is allowed; 0 is the published code's reward"}}

// costReward is Loadline's own: what was paid over what the visits need on the
// mean, and the requests over the SLO over what the objective allows (1 %), by how
// many there were. They count by their square root: a step in which everything
// is late must not drown all that could be learned from the others. Memory counts,
// or a thousand tiny replicas would be free; so does unrest.
func costReward(o *outcome, p map[string]float64) float64 {
	reference := max(o.Reference, 1e-9)
	needed := o.observed.Rate.Or(0) * o.topology.CPU
	cpu := max(o.CPU*o.Replicas, o.observed.CPU.Or(0))
	paid := cpu + p["memory"]*o.Memory/(1<<30)*o.Replicas
	reward := (-paid - p["over"]*math.Sqrt(o.over()/0.01)*needed) / reference
	if o.Changed {
		reward -= p["change"]
	}
	return reward
}

// MemoryPrice is what a GiB of memory costs in cores, about as clouds charge.
const MemoryPrice = 0.13

var costParams = []Param{
	{"over", 1, "what it weighs when 1 % of the requests are over the SLO, in the cost of what they need"},
	{"memory", MemoryPrice, "what a GiB costs, in cores: about what clouds charge"},
	{"change", 0.1, "what a changed number of replicas costs, in the mean cost of a step"},
	{"requests", 1, "1: what a replica asks for follows what it uses; 0: it stays as it is"},
}
