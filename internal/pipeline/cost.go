package pipeline

import (
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim/pool"
)

// hoursPerMonth by which clouds bill.
const hoursPerMonth = 730

// What Loadline itself takes. The controller's two replicas request 100m and 256Mi each
// (deploy/controller). Its 24 queries every 15 s take 1.1 ms of Prometheus' CPU each for an application
// of ten services, a weekly retraining 48 s of two cores (docs/performance.md).
const (
	ownCores              = 0.2 + 24*0.0011/15
	ownGiB                = 0.5
	ownCoreHoursTraining  = 48 * 2.0 / 3600
	ownTrainingsPerMonth  = hoursPerMonth / (24 * 7.0)
	ownCoreHoursPerMonth  = ownCores*hoursPerMonth + ownCoreHoursTraining*ownTrainingsPerMonth
	ownByteSecondsAnHour  = ownGiB * (1 << 30) * 3600
	ownByteSecondsMonthly = ownByteSecondsAnHour * hoursPerMonth
)

// ownCost of Loadline, per month. One installation serves every application of a cluster; here
// one application pays all of it.
func ownCost(prices pool.Prices) float64 {
	return prices.Resources(ownCoreHoursPerMonth*3600, ownByteSecondsMonthly)
}

// perHour is what a run costs: its bill where nodes are bought, or else its cores and memory at
// their prices. The nodes of an application that is alone on them cost the same whatever a policy
// does.
func perHour(r *bench.Record, on pool.Cluster) float64 {
	money := float64(r.Result.Bill)
	if len(on.Pools) == 0 {
		money = resources(r.Result.CoreHours, r.Result.GiBHours, on)
	}
	return money / hoursOf(r)
}

// PerMonth is what the cores and the memory of a run cost per month at their prices.
func PerMonth(r *result.Result, prices pool.Prices) float64 {
	hours := float64(r.DurationSeconds) / 3600
	return resources(r.CoreHours, r.GiBHours, pool.Cluster{Prices: prices}) / hours * hoursPerMonth
}

func resources(coreHours, gibHours result.Number, on pool.Cluster) float64 {
	return on.Prices.Resources(3600*float64(coreHours), 3600*float64(gibHours)*(1<<30))
}

func hoursOf(r *bench.Record) float64 { return float64(r.Result.DurationSeconds) / 3600 }

// ServiceCost is one service's part of the cost.
type ServiceCost struct {
	Name     string        `json:"name"`
	PerMonth result.Number `json:"per_month"`
	Cores    result.Number `json:"cores"` // paid for, mean
	GiB      result.Number `json:"gib"`
}

// services divides the cost of a run among services, by the price of what they take.
func services(r *bench.Record, on pool.Cluster) []ServiceCost {
	total, hours := resources(r.Result.CoreHours, r.Result.GiBHours, on), hoursOf(r)
	money := perHour(r, on) * hoursPerMonth
	var all []ServiceCost
	for _, s := range r.Result.Services {
		share := 0.0
		if total > 0 {
			share = resources(s.CoreHours, s.GiBHours, on) / total
		}
		all = append(all, ServiceCost{s.Name, result.Number(share * money), s.CoreHours / result.Number(hours),
			s.GiBHours / result.Number(hours)})
	}
	return all
}
