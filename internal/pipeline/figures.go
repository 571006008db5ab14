package pipeline

import (
	"math"
	"slices"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim/pool"
)

// part is a part of the history with the stretches that stand for it.
type part struct {
	app     *loadline.App
	on      pool.Cluster
	lead    float64 // hours that are not scored
	weights map[string]float64
}

// add one stretch.
func (e *Entry) add(dir string, row *bench.Row, p part) error {
	e.Policy, e.Fallback = row.Case.Policy, row.Case.Guard
	figures := Figures{Stretch: row.Case.Workload, Over: row.Measures["degraded_ratio"].Mean,
		SLORatio: row.Measures["worst_slo_ratio"].Mean}
	for _, key := range row.Runs {
		record, err := bench.ReadRecord(dir, key)
		if err != nil {
			return err
		}
		record.Case = row.Case // the same run may have had another name
		e.runs = append(e.runs, record)
		figures.PerHour += result.Number(perHour(record, p.on) / float64(len(row.Runs)))
	}
	e.Stretches = append(e.Stretches, figures)
	if !(figures.SLORatio <= e.SLORatio) {
		e.SLORatio = figures.SLORatio
	}
	e.WorstOver = max(e.WorstOver, notNaN(figures.Over))
	return nil
}

// notNaN is a share of requests; without a request none was over the SLO.
func notNaN(n result.Number) result.Number {
	if math.IsNaN(float64(n)) {
		return 0
	}
	return n
}

// weigh computes the figures over the whole part: every run by the time that its stretch stands
// for, seed by seed.
func (e *Entry) weigh(p part) {
	seeds := map[uint64]int{}
	var order []uint64
	for _, r := range e.runs {
		if seeds[r.Seed]++; seeds[r.Seed] == 1 {
			order = append(order, r.Seed)
		}
	}
	slices.Sort(order)
	n := result.Number(len(order))
	byName := map[string]int{}
	for _, seed := range order {
		var month, requests, over float64
		for _, r := range e.runs {
			if r.Seed != seed {
				continue
			}
			weight := p.weights[r.Case.Workload]
			each := result.Number(weight) / n
			month += weight * hoursPerMonth * perHour(r, p.on)
			rate := float64(r.Result.Requests) / (hoursOf(r) - p.lead)
			requests += weight * rate
			over += weight * rate * float64(notNaN(r.Result.Degraded()))
			hours := result.Number(hoursOf(r))
			e.Replicas += each * r.Result.MeanReplicas
			e.ReplicaChanges += each * result.Number(r.ReplicaChanges) / hours
			e.Resizes += each * result.Number(r.Resizes) / hours
			for _, s := range services(r, p.on) {
				at, known := byName[s.Name]
				if !known {
					at = len(e.Services)
					byName[s.Name] = at
					e.Services = append(e.Services, ServiceCost{Name: s.Name})
				}
				of := &e.Services[at]
				of.PerMonth += each * s.PerMonth
				of.Cores += each * s.Cores
				of.GiB += each * s.GiB
				e.Cores += each * s.Cores
				e.GiB += each * s.GiB
			}
			for _, axis := range r.NotAllowed {
				if !slices.Contains(e.NotAllowed, axis) {
					e.NotAllowed = append(e.NotAllowed, axis)
				}
			}
		}
		e.months = append(e.months, month)
		e.overs = append(e.overs, over/max(requests, math.SmallestNonzeroFloat64))
		e.PerMonth += result.Number(month) / n
		e.Over += result.Number(e.overs[len(e.overs)-1]) / n
	}
	e.Bound = e.boundOf(p.app)
}

// atBound is the share of time above which a policy counts as staying at a bound.
const atBound = 0.95

// boundOf is where the replicas of services that can scale were almost all the time.
func (e *Entry) boundOf(app *loadline.App) string {
	var atMin, atMax, points float64
	for _, r := range e.runs {
		for i := range app.Services {
			s := &app.Services[i]
			if s.Bounds.MinReplicas == s.Bounds.MaxReplicas {
				continue // it cannot scale
			}
			for _, n := range r.Timeline.Replicas[s.Name] {
				points++
				if n := float64(n); n <= float64(s.Bounds.MinReplicas) {
					atMin++
				} else if n >= float64(s.Bounds.MaxReplicas) {
					atMax++
				}
			}
		}
	}
	return boundOf(atMin/points, atMax/points)
}

func boundOf(atMin, atMax float64) string {
	switch {
	case atMin > atBound:
		return "min"
	case atMax > atBound:
		return "max"
	}
	return ""
}
