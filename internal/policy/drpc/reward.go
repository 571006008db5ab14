package drpc

import (
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
)

// Reward has the constants of equations 1 to 3.
type Reward struct {
	CPU      float64 `json:"cpu"`      // U_pref: preferred utilisation of CPU requests
	Memory   float64 `json:"memory"`   // likewise for memory requests
	Optional float64 `json:"optional"` // weight of dropped optional calls, in requests that miss their SLO
	// Price is the cost of requesting twice as much as the preferred utilisation needs. The
	// paper has none: 0.
	Price float64 `json:"price,omitempty"`
}

// PrintedReward is that of the equations, with the utilisation that the paper reports at
// convergence. A dropped call weighs as much as its price in requests.
func PrintedReward() Reward { return Reward{CPU: 0.60, Memory: 0.75, Optional: 1} }

// DefaultReward adds a price, which is ours.
func DefaultReward() Reward {
	r := PrintedReward()
	r.Price = 0.1
	return r
}

// Score is a reward with its parts.
type Score struct {
	Reward float64 // R_qos / R_util, minus dropped calls
	QoS    float64 // R_qos
	Util   float64 // R_util, 1 or more
	CPU    float64 // mean utilisation over machines
	Memory float64
}

// Of is the reward of the last window. It is unknown if no kind of requests was
// measured.
func (r Reward) Of(app *loadline.App, now *loadline.Observation) (Score, bool) {
	var w Score
	requests := 0.0
	for k := range now.Kinds {
		seen := &now.Kinds[k]
		if seen.Rate.Or(0) <= 0 {
			continue
		}
		over, known := overSLO(&app.Kinds[k], seen)
		if !known {
			continue
		}
		requests += seen.Rate.Value
		w.QoS += seen.Rate.Value * qos(over)
	}
	if requests == 0 {
		return w, false
	}
	w.QoS /= requests
	w.Util = r.util(app, now, &w)
	dropped := 0.0
	for i := range now.Services {
		dropped += now.Services[i].Dropped.Or(0) * app.Services[i].OptionalPrice
	}
	w.Reward = w.QoS/w.Util - r.Optional*dropped/requests
	if r.Price > 0 {
		w.Reward -= r.Price * r.doublings(now)
	}
	return w, true
}

// Bounds of doublings.
const (
	leastDoublings = -1
	mostDoublings  = 4
)

// doublings from what the preferred utilisation needs to what is requested, cores and memory
// together at their price. R_util is cubic and flat at its optimum: from a third to nine tenths
// of CPU utilisation it hardly changes, while the cost changes by a factor of almost three.
func (r Reward) doublings(now *loadline.Observation) float64 {
	asked, needed := 0.0, 0.0
	for i := range now.Services {
		s := &now.Services[i]
		needed += s.CPU.Or(0) / r.CPU
		for j := range s.Pods {
			asked += s.Pods[j].Size.CPURequest + gib(float64(s.Pods[j].Size.MemoryRequest))
			needed += gib(s.Pods[j].Memory.Or(0)) / r.Memory
		}
	}
	if asked <= 0 || needed <= 0 {
		return 0
	}
	return min(max(math.Log2(asked/needed), leastDoublings), mostDoublings)
}

// gib is the price of memory in cores.
func gib(bytes float64) float64 { return formulation.MemoryPrice * bytes / (1 << 30) }

// qos is R_qos of a response time relative to the longest tolerated one (eq. 1).
func qos(over float64) float64 {
	if over <= 1 {
		return 1
	}
	return math.Exp(-(over - 1) * (over - 1))
}

// latest is the upper bound of response times relative to the tolerated one.
const latest = 10

// overSLO is the response time of a kind at its SLO's percentile relative to the SLO's latency.
// Failed requests count as timed out: where more fail than the percentile allows, the response
// time is the timeout.
func overSLO(kind *loadline.Kind, seen *loadline.KindObservation) (float64, bool) {
	slo := kind.SLO.Latency.Seconds()
	gaveUp := float64(latest)
	if kind.Timeout > 0 {
		gaveUp = min(latest, max(1, kind.Timeout.Seconds()/slo))
	}
	failed := seen.Failed.Or(0) / seen.Rate.Value
	switch {
	case failed > 1-kind.SLO.Percentile/100:
		return gaveUp, true
	case !seen.AtSLO.Present():
		return 0, false
	}
	return min(seen.AtSLO.Value/slo, latest), true
}

// util is R_util (eq. 2): both branches are the cube of the distance of a machine's utilisation
// from the preferred one.
func (r Reward) util(app *loadline.App, now *loadline.Observation, w *Score) float64 {
	sum, machines := 0.0, 0.0
	for k := range app.Nodes {
		cpu, memory, ok := utilisation(now, k)
		if !ok {
			continue
		}
		machines++
		w.CPU += cpu
		w.Memory += memory
		sum += cube(r.CPU-cpu) + cube(r.Memory-memory)
	}
	if machines == 0 {
		return 1
	}
	w.CPU /= machines
	w.Memory /= machines
	return 1 + sum/machines
}

func cube(d float64) float64 { return math.Abs(d) * d * d }

// fullest is the upper bound of utilisation: twice the requests.
const fullest = 2

// utilisation of a machine is usage over the requests of its replicas. A machine that is not
// measured, lost or empty has none.
func utilisation(now *loadline.Observation, node int) (cpu, memory float64, ok bool) {
	seen := &now.Nodes[node]
	if seen.Lost || !seen.CPU.Present() || !seen.Memory.Present() {
		return 0, 0, false
	}
	cores, bytes := 0.0, 0.0
	for i := range now.Services {
		pods := now.Services[i].Pods
		for j := range pods {
			if pods[j].Node == node && pods[j].Phase != loadline.PodPending {
				cores += pods[j].Size.CPURequest
				bytes += float64(pods[j].Size.MemoryRequest)
			}
		}
	}
	if cores <= 0 || bytes <= 0 {
		return 0, 0, false
	}
	return min(seen.CPU.Value/cores, fullest), min(seen.Memory.Value/bytes, fullest), true
}
