package policy

import (
	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
)

// kindMix is how the kinds of users' requests divide the load, and what that means for services
// by the application's call trees: with more requests of a kind that calls a service often, or that
// is dear there, its visits and its CPU rise before the fading averages show it. Both are relative
// to the mix of the model, so that services without a call tree have a factor of 1.
type kindMix struct {
	visits, work [][]float64 // by kind, then service, of one request
	shares       []float64   // as a fading average
	usual        []mixFactor // by service, of the model's mix, absolute
	now          []mixFactor // by service, relative to the usual one
}

// mixFactor is visits of a request, and the CPU time of a visit.
type mixFactor struct{ visits, work float64 }

// orOne is the factors of a mix that is not known.
func (f mixFactor) orOne() mixFactor {
	if f == (mixFactor{}) {
		return mixFactor{1, 1}
	}
	return f
}

// mixFade: half of a sample's weight is gone after 45 s at a period of 15 s. Shares of one reading
// are noise where kinds are rare.
const mixFade = 0.8

func newKindMix(app *loadline.App) kindMix {
	m := kindMix{
		visits: apps.Visits(app), work: apps.CPUSeconds(app), now: make([]mixFactor, len(app.Services)),
		usual: make([]mixFactor, len(app.Services)), shares: make([]float64, len(app.Kinds)),
	}
	for k := range app.Kinds {
		m.shares[k] = app.Kinds[k].Share
	}
	for i := range m.usual {
		m.usual[i] = m.of(i)
		m.now[i] = mixFactor{1, 1}
	}
	return m
}

// of a service, with the shares of now: visits of a request, CPU seconds of a visit.
func (m *kindMix) of(service int) (f mixFactor) {
	all, work := 0.0, 0.0
	for k, share := range m.shares {
		all += share
		f.visits += share * m.visits[k][service]
		work += share * m.work[k][service]
	}
	if f.visits > 0 {
		f.work = work / f.visits
	}
	if all > 0 {
		f.visits /= all
	}
	return f
}

// learn the rates of the kinds, which need not sum to 1.
func (m *kindMix) learn(rates []float64) {
	before, sum := total(m.shares), total(rates)
	if sum <= 0 || before <= 0 || len(rates) != len(m.shares) || len(rates) < 2 {
		return
	}
	for k := range m.shares {
		m.shares[k] = mixFade*m.shares[k]/before + (1-mixFade)*rates[k]/sum
	}
	for i := range m.now {
		is := m.of(i)
		m.now[i] = mixFactor{relative(is.visits, m.usual[i].visits), relative(is.work, m.usual[i].work)}
	}
}

func total(all []float64) (sum float64) {
	for _, v := range all {
		sum += v
	}
	return sum
}

// relative is 1 where a figure is not known.
func relative(is, usual float64) float64 {
	if is <= 0 || usual <= 0 {
		return 1
	}
	return is / usual
}
