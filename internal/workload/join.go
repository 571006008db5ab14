package workload

import (
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// Join makes the workload of an application that several are joined in (loadline.App.Tenants): each
// has its own. It is as long as the shortest. Its rate is that of all together, and its mix has what
// each kind of request has of it, bin by bin, so that it can be reshaped as any other.
func Join(name string, app *loadline.App, of []*Workload) (*Workload, error) {
	tenants := app.TenantRanges()
	if len(tenants) != len(of) {
		return nil, fmt.Errorf("workload %s: %d workloads for the %d applications of %s: must be one for each", name, len(of), len(tenants),
			app.Name)
	}
	loads := make([]*Load, len(of))
	step, length := of[0].Step, of[0].Duration()
	for i, w := range of {
		var err error
		if loads[i], err = w.forTenant(app, tenants[i]); err != nil {
			return nil, err
		}
		step, length = commonStep(step, w.Step), min(length, w.Duration())
	}
	bins := int(length / step)
	if bins > maxBins {
		return nil, fmt.Errorf("workload %s: bins of %v, which divide those of all applications, make %d, must be at most %d", name, step,
			bins, maxBins)
	}
	out := &Workload{Name: name, Step: step, Rates: make([]float64, bins), Mix: &Mix{Step: step}}
	for k := range app.Kinds {
		out.Mix.Kinds = append(out.Mix.Kinds, app.Kinds[k].Name)
	}
	out.Mix.Shares = make([]float64, 0, bins*len(app.Kinds))
	for bin := range bins {
		middle := time.Duration(bin)*step + step/2
		for i, t := range tenants {
			for k := range t.Kinds {
				rate, _ := loads[i].Rate(k, middle)
				out.Rates[bin] += rate
				out.Mix.Shares = append(out.Mix.Shares, rate)
			}
		}
		if out.Rates[bin] == 0 { // shares of nothing
			out.Mix.Shares[len(out.Mix.Shares)-1] = 1
		}
	}
	return out, nil
}

// forTenant binds a workload to one application of those that are joined.
func (w *Workload) forTenant(app *loadline.App, t loadline.TenantRange) (*Load, error) {
	own := &loadline.App{Name: t.Name}
	for _, k := range app.Kinds[t.FirstKind : t.FirstKind+t.Kinds] {
		if len(app.Tenants) > 0 {
			k.Name = k.Name[len(t.Name)+1:]
		}
		own.Kinds = append(own.Kinds, k)
	}
	load, err := w.For(own)
	if err != nil {
		return nil, fmt.Errorf("application %s: %w", t.Name, err)
	}
	return load, nil
}

// commonStep is the longest that divides both.
func commonStep(a, b time.Duration) time.Duration {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
