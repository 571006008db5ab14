package result

import (
	"math"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
)

// addApplications adds the figures of each of several applications.
func (r *Result) addApplications(app *loadline.App, m *sim.Meter, prices pool.Prices) {
	held, all := make([]float64, len(app.Tenants)), 0.0 // cores and memory, in money
	for t, tenant := range app.TenantRanges() {
		a := Application{Name: tenant.Name}
		var ended, failed, over, left, coreSeconds, byteSeconds float64
		for k := tenant.FirstKind; k < tenant.FirstKind+tenant.Kinds; k++ {
			kind := &m.Kinds[k]
			ended, failed, over, left = ended+kind.Ended, failed+failures(kind), over+kind.Over, left+kind.Left
		}
		for i := tenant.FirstService; i < tenant.FirstService+tenant.Services; i++ {
			s := &m.Services[i]
			coreSeconds, byteSeconds = coreSeconds+s.CoreSeconds, byteSeconds+s.ByteSeconds
			a.MeanReplicas += Number(s.ReplicaSeconds) / r.DurationSeconds
			a.Changes += Number(s.Changes)
		}
		a.Requests, a.Latency = Number(ended), latencyOf(m.LatencyOf(tenant.FirstKind, tenant.Kinds))
		a.FailedRatio, a.OverSLORatio, a.LeftRatio = ratio(failed, ended), ratio(over, ended), ratio(left, ended)
		a.CoreHours, a.GiBHours = Number(coreSeconds/3600), Number(byteSeconds/(1<<30)/3600)
		held[t] = prices.Resources(coreSeconds, byteSeconds)
		all += held[t]
		r.Applications = append(r.Applications, a)
	}
	for t := range r.Applications {
		a := &r.Applications[t]
		a.Bill = r.Bill * ratio(held[t], all)
		if over := float64(a.OverSLORatio); t == 0 || !(over <= float64(r.OverSLORatio)) && !math.IsNaN(over) {
			r.OverSLORatio = a.OverSLORatio
		}
	}
}

// writeApplications writes the figures of each of several applications.
func (r *Result) writeApplications(b *strings.Builder) {
	if len(r.Applications) == 0 {
		return
	}
	rows := [][]string{{"application", "requests", "failed", "over SLO", "p99", "replicas", "core-hours", "GiB-hours", "changes", "bill"}}
	for _, a := range r.Applications {
		rows = append(rows, []string{
			a.Name, count(a.Requests), Percent(a.FailedRatio), Percent(a.OverSLORatio), ms(a.Latency.P99), fixed(a.MeanReplicas, 2),
			fixed(a.CoreHours, 2), fixed(a.GiBHours, 2), count(a.Changes), Money(a.Bill, r.Currency),
		})
	}
	table(b, rows)
}

// whose are the requests that the share over the SLO is of.
func (r *Result) whose() string {
	for _, a := range r.Applications {
		if a.OverSLORatio == r.OverSLORatio {
			return "the requests of " + a.Name + ", the worst application,"
		}
	}
	return "all requests"
}
