package validate

import (
	"context"
	"slices"

	"github.com/loadline/loadline/internal/sim"
)

// HotelOptions configure the simulation.
type HotelOptions struct {
	Data    string // folder of the validation data
	Windows int    // held-out windows to run through the event engine
	Seed    uint64
}

// DefaultHotel takes a few seconds.
var DefaultHotel = HotelOptions{Windows: 40, Seed: 1}

// HotelReport compares the model with the measured hotel-reservation application.
type HotelReport struct {
	Audit HotelAudit `json:"audit"`
	Model HotelModel `json:"model"`

	// From the measured throughput to latencies: the client.
	Client []HotelErrors `json:"client"`
	// Engine compares the event engine's client with the closed form.
	Engine HotelEngine `json:"engine"`
	// From the allocation alone: the services.
	Allocation []HotelAllocation `json:"allocation"`
}

// HotelErrors of latencies, given the measured throughput.
type HotelErrors struct {
	Windows string `json:"windows"` // which
	Mean    Errors `json:"mean"`
	Average Errors `json:"mean_by_average"` // trivial: the mean of the fitted windows
	Line    Errors `json:"mean_by_line"`    // trivial: a line over throughput, from the fitted windows
	Equal   Errors `json:"p99_equal"`       // equal connections
	Spread  Errors `json:"p99_spread"`      // unequal connections
	Typical Errors `json:"p99_by_average"`
	P99Line Errors `json:"p99_by_line"`
}

// HotelEngine is the largest difference between closed forms and event engine.
type HotelEngine struct {
	Simulated  int    `json:"simulated"`
	ClientMean Errors `json:"client_mean"`
	ClientP99  Errors `json:"client_p99"`
	Throughput Errors `json:"throughput"` // of the fitted call graph
}

// HotelAllocation are the errors where only the allocation is known.
type HotelAllocation struct {
	Windows      string  `json:"windows"`
	Throughput   Errors  `json:"throughput"`
	ByMedian     Errors  `json:"throughput_by_median"`
	Mean         Errors  `json:"mean_latency"`
	MeanByMedian Errors  `json:"mean_latency_by_average"`
	Foretold     float64 `json:"overloads_foretold"` // share of overloaded windows that were predicted
}

// Hotel fits on the windows of some policies and reports the errors on the others'.
func Hotel(ctx context.Context, o HotelOptions) (*HotelReport, error) {
	windows, services, err := readHotel(o.Data)
	if err != nil {
		return nil, err
	}
	fit := ofPolicies(windows, hotelFitted...)
	r := &HotelReport{Audit: auditHotel(windows), Model: fitHotel(fit, services)}
	base := fitHotelTrivial(fit)
	for _, p := range slices.Concat(hotelFitted, hotelHeld) {
		name := p
		if slices.Contains(hotelHeld, p) {
			name += " (held out)"
		}
		of := ofPolicies(windows, p)
		r.Client = append(r.Client,
			compareClient(name+", near saturation", base, of, func(missing float64) bool { return missing <= 0.03 }),
			compareClient(name+", beyond it", base, of, func(missing float64) bool { return missing > 0.03 }))
		r.Allocation = append(r.Allocation, r.Model.compare(name, base, of))
	}
	held := ofPolicies(windows, hotelHeld...)
	rng := sim.Stream(o.Seed, sim.StreamMetrics, 3)
	rng.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
	r.Engine, err = r.Model.engine(ctx, held[:min(o.Windows, len(held))], o.Seed)
	return r, err
}

func ofPolicies(windows []hotelWindow, policies ...string) []hotelWindow {
	return slices.DeleteFunc(slices.Clone(windows), func(w hotelWindow) bool { return !slices.Contains(policies, w.Policy) })
}

// hotelTrivial predicts without a model.
type hotelTrivial struct{ mean, p99, throughput trivial }

func fitHotelTrivial(fit []hotelWindow) *hotelTrivial {
	t := &hotelTrivial{}
	for _, w := range fit {
		t.throughput.add(0, w.Completed)
		if w.meanKnown() {
			t.mean.add(w.Completed, w.MeanMs)
		}
		if w.p99Known() {
			t.p99.add(w.Completed, w.P99Ms)
		}
	}
	t.mean.settle()
	t.p99.settle()
	return t
}

func compareClient(name string, base *hotelTrivial, windows []hotelWindow, in func(missing float64) bool) HotelErrors {
	var m, average, line, equal, spread, typical, p99Line pairs
	for i := range windows {
		w := &windows[i]
		missing := w.missing()
		if !in(missing) {
			continue
		}
		if w.meanKnown() {
			byTrivial := base.mean.predict(w.Completed)
			m.add(clientMean(missing), w.MeanMs)
			average.add(byTrivial[0], w.MeanMs)
			line.add(byTrivial[1], w.MeanMs)
		}
		if w.p99Known() {
			byTrivial := base.p99.predict(w.Completed)
			equal.add(clientP99Equal(missing), w.P99Ms)
			spread.add(clientP99Spread(missing), w.P99Ms)
			typical.add(byTrivial[0], w.P99Ms)
			p99Line.add(byTrivial[1], w.P99Ms)
		}
	}
	return HotelErrors{
		Windows: name, Mean: m.errors(), Average: average.errors(), Line: line.errors(),
		Equal: equal.errors(), Spread: spread.errors(), Typical: typical.errors(), P99Line: p99Line.errors(),
	}
}

func (m *HotelModel) compare(name string, base *hotelTrivial, windows []hotelWindow) HotelAllocation {
	var throughput, byMedian, latency, byAverage pairs
	usual := median(base.throughput.points.y)
	over, foretold := 0.0, 0.0
	for i := range windows {
		w := &windows[i]
		x := m.throughput(w.Replicas)
		throughput.add(x, w.Completed)
		byMedian.add(usual, w.Completed)
		if w.meanKnown() {
			latency.add(clientMean(1-x/hotelOffered), w.MeanMs)
			byAverage.add(base.mean.mean, w.MeanMs)
		}
		if w.missing() > 0.03 {
			over++
			if 1-x/hotelOffered > 0.03 {
				foretold++
			}
		}
	}
	return HotelAllocation{
		Windows: name, Throughput: throughput.errors(), ByMedian: byMedian.errors(),
		Mean: latency.errors(), MeanByMedian: byAverage.errors(), Foretold: foretold / max(over, 1),
	}
}

// engine runs windows through the event engine: the client alone at the
// measured throughput, and the fitted call graph.
func (m *HotelModel) engine(ctx context.Context, windows []hotelWindow, seed uint64) (HotelEngine, error) {
	type answer struct{ meanMs, p99Ms, completed, graph float64 }
	answers := make([]answer, len(windows))
	err := each(ctx, len(windows), func(i int) {
		a := &answers[i]
		a.meanMs, a.p99Ms, a.completed = simulateClient(windows[i].Completed, seed+uint64(i))
		_, a.graph = m.simulate(windows[i].Replicas, seed+uint64(i))
	})
	var meanOff, p99Off, graphOff pairs
	for i, a := range answers {
		graphOff.add(m.throughput(windows[i].Replicas), a.graph)
		if missing := max(0, 1-a.completed/hotelOffered); missing > 0.03 {
			meanOff.add(clientMean(missing), a.meanMs)
			p99Off.add(clientP99Equal(missing), a.p99Ms)
		}
	}
	return HotelEngine{len(windows), meanOff.errors(), p99Off.errors(), graphOff.errors()}, err
}
