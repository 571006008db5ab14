package validate

import (
	"context"
	"maps"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/event"
)

// OpenFaaSOptions configure the simulation.
type OpenFaaSOptions struct {
	Data    string // folder of the validation data
	Tune    int    // samples for tuning the hidden demands; fewer than 200 depend too much on the draw
	Samples int    // held-out samples to simulate, drawn at random
	Seed    uint64
}

// DefaultOpenFaaS takes almost a minute on two cores.
var DefaultOpenFaaS = OpenFaaSOptions{Tune: 200, Samples: 500, Seed: 1}

// The measured runs: constant rates for 30 s; the load generator has a timeout of 30 s.
const (
	faasLength  = 30 * time.Second
	faasTimeout = 30 * time.Second
)

// faasAnswer is the model's prediction for one function of a sample.
type faasAnswer struct {
	cores     float64
	latencyMs float64
	success   float64
}

// app: a gateway that calls the function, all on one node. Functions share its CPU by equal
// weights; a request runs on one core at most. The gateway includes everything that a request
// needs besides its function, much of it in the kernel, so functions cannot starve it.
func (m *FaaSModel) app(s *faasSample) *loadline.App {
	app := &loadline.App{Name: "openfaas", Nodes: []loadline.Node{{Name: "node", Cores: m.free(s), Memory: 1 << 40}}}
	size := loadline.Size{CPURequest: 0.002}
	first := loadline.Size{CPURequest: m.free(s) / 2}
	app.Services = append(app.Services, server("gateway", loadline.Dist{Mean: milliseconds(m.GatewayMs)}, 0, 1, first))
	for i, f := range s.Functions {
		p := m.Functions[f.Name]
		app.Services = append(app.Services, server(f.Name, loadline.Dist{Mean: milliseconds(p.CPUMs * p.Hidden)},
			milliseconds(m.waitMs(p)), f.Replicas, size))
		app.Kinds = append(app.Kinds, loadline.Kind{
			Name: f.Name, Share: 1, Timeout: faasTimeout, Root: visit(0, []loadline.Call{visit(i + 1)}),
		})
	}
	return app
}

// answer simulates a sample until every request has ended or timed out.
func (m *FaaSModel) answer(s *faasSample, seed uint64) []faasAnswer {
	rates := make([]float64, len(s.Functions))
	for i := range rates {
		rates[i] = s.Functions[i].Rate
	}
	e := event.New(sim.Config{App: m.app(s), Seed: seed, CPU: sim.Shared, Load: constant{rates: rates, ends: faasLength}})
	e.AdvanceTo(faasLength)
	var r sim.Reading
	e.Read(&r)
	e.AdvanceTo(faasLength + faasTimeout + time.Second)
	e.Finish()
	out := make([]faasAnswer, len(s.Functions))
	for i := range out {
		k, p := &e.Meter().Kinds[i], m.Functions[s.Functions[i].Name]
		// A timed-out request counts with the whole timeout.
		total := k.Latency.Sum()/1e6 + k.TimedOut*faasTimeout.Seconds()*1e3
		out[i] = faasAnswer{
			cores:     p.Base + r.Services[i+1].Of[loadline.ServiceCPU]/p.Hidden/faasLength.Seconds(),
			latencyMs: total / (k.Completed + k.Failed),
			success:   k.Completed / (k.Completed + k.Failed),
		}
	}
	return out
}

// OpenFaaS fits the model on half of the files and reports the errors on
// samples of the other half.
func OpenFaaS(ctx context.Context, o OpenFaaSOptions) (*OpenFaaSReport, error) {
	samples, err := readOpenFaaS(ctx, o.Data)
	if err != nil {
		return nil, err
	}
	fit, held := splitByFile(samples)
	model := fitFaaS(fit, o.Seed)
	untuned := model
	untuned.Functions = maps.Clone(model.Functions)
	if err := model.tune(ctx, fit, o.Tune, o.Seed); err != nil {
		return nil, err
	}
	trivial := fitTrivialFaaS(fit)
	rng := sim.Stream(o.Seed, sim.StreamMetrics, 1)
	rng.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
	drawn := held[:min(o.Samples, len(held))]
	answers := make([][]faasAnswer, len(drawn))
	before := make([][]faasAnswer, len(drawn))
	err = each(ctx, len(drawn), func(i int) {
		answers[i] = model.answer(&drawn[i], o.Seed+uint64(i))
		before[i] = untuned.answer(&drawn[i], o.Seed+uint64(i))
	})
	if err != nil {
		return nil, err
	}
	report := &OpenFaaSReport{Model: model, Fitted: len(fit), Held: len(held), Simulated: len(drawn)}
	report.compare(drawn, answers, before, trivial)
	return report, nil
}
