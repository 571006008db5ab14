package live

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/metrics/prom"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/fluid"
	"github.com/loadline/loadline/internal/simulate"
)

// faulting is an engine whose exporters also show page faults, three a second.
type faulting struct {
	sim.Engine
	metric loadline.ServiceMetric
}

func (e faulting) Read(r *sim.Reading) {
	e.Engine.Read(r)
	for i := range r.Services {
		r.Services[i].Of[e.metric] = 3 * r.At.Seconds()
	}
}

// TestAMetricIsARowOfTheTable adds a metric to the table, and nothing else but
// the engine that shows it. It must come through the simulated observer, a
// history on disk, the exposition, a real Prometheus with an unchanged preset,
// the decision log and the report of absent metrics.
//
// It is not parallel: parallel tests of this package run after it.
func TestAMetricIsARowOfTheTable(t *testing.T) {
	need(t, "prometheus", "promtool")
	toy, remove, err := loadline.AddServiceMetric(loadline.Metric{
		Name: "page_faults", Unit: "1/s", Aggregation: loadline.PerSecond, Help: "page faults", Absent: "not scraped", Cost: "nothing",
		Series: "container_page_faults_total",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	model, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	app := model.App
	of := func(o *loadline.ServiceObservation) loadline.Sample { return *loadline.ServiceTable[toy].Field(o) }

	engine := faulting{fluid.New(sim.Config{App: app, Load: steady(30)}, 5*time.Second), toy}
	cluster := sim.NewCluster(app, engine, sim.Metrics{}, 1)
	recorder := simulate.NewExposition(app, "shop")
	cluster.OnScrape(func(r *sim.Reading) { recorder.Watch(r, engine.ControlPlane()) })
	ctx := context.Background()
	if err := cluster.WaitUntil(ctx, cluster.Now().Add(5*time.Minute)); err != nil {
		t.Fatal(err)
	}
	var seen loadline.Observation
	if err := cluster.Observe(ctx, &seen); err != nil {
		t.Fatal(err)
	}
	near(t, "observed", of(&seen.Services[0]), 3, 1e-9)

	t.Run("history", func(t *testing.T) {
		h := &history.History{Start: sim.Epoch, Step: 15 * time.Second, Steps: 1, Services: []history.Service{{Name: "web"}}}
		h.Services[0].Series[toy] = history.Series{float32(of(&seen.Services[0]).Value)}
		h.Tidy()
		dir := filepath.Join(t.TempDir(), "past")
		if err := history.Write(dir, h); err != nil {
			t.Fatal(err)
		}
		back, err := history.Read(dir, history.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if v, present := back.Services[0].Series[toy].Get(0); !present || v != 3 {
			t.Errorf("%v (present %v) was read back, want 3", v, present)
		}
	})
	t.Run("decision log", func(t *testing.T) {
		allocation := make([]loadline.Allocation, len(app.Services))
		record := decisionlog.Of(&loadline.Decision{At: seen.At}, loadline.Situation{
			App: app, Window: []loadline.Observation{seen}, Allocation: allocation, InFlight: allocation,
		})
		text, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		var back decisionlog.Record
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		o := back.Observation(app)
		near(t, "logged", of(&o.Services[0]), 3, 1e-9)
	})
	t.Run("Prometheus", func(t *testing.T) {
		var text bytes.Buffer
		if err := recorder.Write(&text); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		blocks(t, dir, text.Bytes())
		server := start(t, dir, "")
		got := observe(t, source(t, server.url, Options{App: app, Namespace: "shop"}), seen.At)
		near(t, "read", of(&got.Services[0]), 3, 0.01)

		preset, err := prom.Load("istio")
		if err != nil {
			t.Fatal(err)
		}
		preset.Service[toy] = nil
		without := source(t, server.url, Options{App: app, Namespace: "shop", Preset: preset})
		observe(t, without, seen.At)
		if !slices.ContainsFunc(without.Report().Lacking(), func(d loadline.Diagnosis) bool {
			return d.Scope == loadline.OfService && d.State == loadline.MetricAbsent && d.Metric == "page_faults"
		}) {
			t.Errorf("the report does not list the metric as absent: %v", without.Report().Lacking())
		}
	})
}
