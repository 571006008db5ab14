package console

import (
	"time"

	"github.com/loadline/loadline/internal/decisionlog"
)

// band is a forecast of a service's rate.
type band struct{ median, high float32 }

var noBand = band{nan32, nan32}

// foresee keeps a forecast of a service for the points to come, in place of an earlier one. Of several
// values for a point the highest counts.
func (p *past) foresee(service int, made time.Time, f *decisionlog.Forecast) {
	if f == nil || f.Step <= 0 {
		return
	}
	fresh := map[time.Time]band{}
	for i, median := range f.Median {
		after := time.Duration(i+1) * time.Duration(f.Step)
		at := made.Add(after).Truncate(Step)
		if after > mostAhead || !at.After(made.Truncate(Step)) {
			continue
		}
		b, known := fresh[at]
		if !known {
			b = noBand
		}
		if v := float32(median); !(b.median >= v) {
			b.median = v
		}
		if i < len(f.High) && !(b.high >= float32(f.High[i])) {
			b.high = float32(f.High[i])
		}
		fresh[at] = b
	}
	if p.ahead == nil {
		p.ahead = map[time.Time][]band{}
	}
	for at, b := range fresh {
		for len(p.ahead[at]) <= service {
			p.ahead[at] = append(p.ahead[at], noBand)
		}
		p.ahead[at][service] = b
	}
}

// expect keeps the load that a policy plans for, of one that forecasts by itself, for the point that it is
// expected within.
func (p *past) expect(service int, made time.Time, s *decisionlog.Service) {
	if s.Forecast != nil || s.Proposal == nil || s.Proposal.Expects == nil {
		return
	}
	within := time.Duration(s.Proposal.Expects.Within)
	at := made.Add(within).Truncate(Step)
	if within > mostAhead || !at.After(made.Truncate(Step)) {
		return
	}
	if p.ahead == nil {
		p.ahead = map[time.Time][]band{}
	}
	for len(p.ahead[at]) <= service {
		p.ahead[at] = append(p.ahead[at], noBand)
	}
	p.ahead[at][service] = band{nan32, float32(s.Proposal.Expects.Rate)}
}

// band that was forecast for a service.
func (q *point) band(service int) band {
	if service < len(q.forecast) {
		return q.forecast[service]
	}
	return noBand
}
