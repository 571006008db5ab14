package train_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/internal/workload"
)

func load(t *testing.T, app *loadline.App, spec string, d time.Duration) sim.Arrivals {
	t.Helper()
	w, err := workload.Parse(spec, d, 15*time.Second, 1)
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.For(app)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func app(t *testing.T, name string) *loadline.App {
	t.Helper()
	m, err := apps.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return m.App
}

func problem(t *testing.T, name string) *formulation.Problem {
	t.Helper()
	p, err := formulation.NewProblem(name, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAServiceAloneHasTheSameVisitsAndWork(t *testing.T) {
	boutique := app(t, "boutique")
	users := load(t, boutique, "constant:rps=40", time.Hour)
	topology := formulation.NewTopology(boutique)
	visits, work := apps.Mix(boutique, apps.Visits(boutique)), apps.Mix(boutique, apps.CPUSeconds(boutique))
	for _, p := range train.ServiceScenarios(topology, users, time.Hour) {
		i := boutique.ServiceIndex(p.Service)
		rate, _ := p.Load.Rate(0, time.Minute)
		if want := 40 * visits[i]; math.Abs(rate-want) > 1e-6*want {
			t.Errorf("%s: %v visits/s alone, %v in the application", p.Service, rate, want)
		}
		if got, want := p.Reference, 40*work[i]; math.Abs(got-want) > 1e-4*want {
			t.Errorf("%s: needs %v cores alone, %v in the application", p.Service, got, want)
		}
		if p.App.Kinds[0].SLO.Latency <= 0 || p.App.Kinds[0].SLO.Latency > 2*time.Second {
			t.Errorf("%s: SLO %v", p.Service, p.App.Kinds[0].SLO)
		}
	}
}

func TestClusterRepeats(t *testing.T) {
	single := app(t, "single")
	places := train.ServiceScenarios(formulation.NewTopology(single), load(t, single, "diurnal:low=20,high=300,period=3h", 6*time.Hour),
		6*time.Hour)
	for _, name := range formulation.FormulationNames() {
		run := func() (rewards []float64, observations []float32) {
			c, err := train.NewServiceEnv(train.ServiceEnvConfig{Problem: problem(t, name), Scenarios: places, Steps: 30, CPUNoise: 0.1,
				MetricsLoss: 0.1})
			if err != nil {
				t.Fatal(err)
			}
			rng := rl.NewRNG(7, 1)
			o, action := make([]float32, c.Spaces().Observation), c.Spaces().NewAction()
			for range 3 {
				c.Reset(rng.Rand, o)
				for over := false; !over; {
					action.Choice = rng.IntN(c.Spaces().Choices)
					r := c.Step(&action, o)
					over = r.Ends()
					rewards = append(rewards, r.Reward)
					observations = append(observations, o...)
				}
			}
			return rewards, observations
		}
		rewards, observations := run()
		again, observed := run()
		if !slices.Equal(rewards, again) || !slices.Equal(observations, observed) {
			t.Errorf("%s: the same seed gives another episode", name)
		}
		if len(rewards) != 90 {
			t.Errorf("%s: %d steps", name, len(rewards))
		}
		for _, r := range rewards {
			if math.IsNaN(r) || math.IsInf(r, 0) {
				t.Fatalf("%s: reward %v", name, r)
			}
		}
		for _, o := range observations {
			if o != o || math.IsInf(float64(o), 0) {
				t.Fatalf("%s: observation %v", name, o)
			}
		}
	}
}

func TestClusterFollowsWhatIsDone(t *testing.T) {
	single := app(t, "single")
	places := train.ServiceScenarios(formulation.NewTopology(single), load(t, single, "constant:rps=150", 3*time.Hour), 3*time.Hour)
	p := problem(t, "scaling-ops")
	c, err := train.NewServiceEnv(train.ServiceEnvConfig{Problem: p, Scenarios: places, Steps: 60})
	if err != nil {
		t.Fatal(err)
	}
	o, action := make([]float32, 3), c.Spaces().NewAction()
	c.Reset(rl.NewRNG(1, 1).Rand, o)
	for range 6 {
		action.Choice = 2
		c.Step(&action, o)
	}
	// A replica works off 100 a second; after a step without change the CPU shows all of them.
	action.Choice = 1
	c.Step(&action, o)
	if want := 1.5 / o[2]; math.Abs(float64(o[0]-want)) > 0.02 || math.Abs(float64(o[1])-150) > 1 {
		t.Errorf("seen CPU %v, rate %v, replicas %v; CPU should be %v", o[0], o[1], o[2], want)
	}
}

func TestClusterNeedsALongEnoughLoad(t *testing.T) {
	single := app(t, "single")
	places := train.ServiceScenarios(formulation.NewTopology(single), load(t, single, "constant:rps=10", time.Hour), time.Hour)
	if _, err := train.NewServiceEnv(train.ServiceEnvConfig{Problem: problem(t, "scaling-ops"), Scenarios: places,
		Steps: 60}); err == nil {
		t.Error("an episode longer than the load was taken")
	}
	if _, err := train.NewServiceEnv(train.ServiceEnvConfig{Problem: problem(t, "scaling-ops"), Steps: 60}); err == nil {
		t.Error("no place was taken")
	}
}

func TestENV1IsItsEquations(t *testing.T) {
	e, err := train.NewENV1(train.ENV1Config{
		Rows: []train.HistoryRow{{CPU: 0.6, Requests: 100, Replicas: 2}}, MinReplicas: 1, MaxReplicas: 3, Steps: 3,
		Delays: train.Delays{CPUSlope: 0.2, RequestSlope: 0.001, Smoothing: 0.4, SLA: 0.25}, Weight: 0.3, Penalty: -2,
	})
	if err != nil {
		t.Fatal(err)
	}
	o, action := make([]float32, 3), rl.Action{Choice: 2}
	e.Reset(rl.NewRNG(1, 1).Rand, o)
	if !slices.Equal(o, []float32{0.6, 100, 2}) {
		t.Fatalf("began with %v", o)
	}
	r := e.Step(&action, o) // 2 to 3 replicas: CPU 0.4, delay 0.4*(0.08 + 0.1) = 72 ms
	if want := 0.4 + 1/(1+0.072/0.25) - 0.9; !slices.Equal(o, []float32{0.4, 100, 3}) || math.Abs(r.Reward-want) > 1e-6 || r.Ends() {
		t.Errorf("after one more: %v, reward %v, want %v", o, r.Reward, want)
	}
	if r = e.Step(&action, o); action.Choice != 1 || o[2] != 3 {
		t.Errorf("at the bound: choice %d was applied, %v", action.Choice, o)
	}
	action.Choice = 0
	if r = e.Step(&action, o); !r.Truncated || r.Terminated || o[2] != 2 {
		t.Errorf("the third step of three: %+v %v", r, o)
	}
}

func TestENV2IsItsEquations(t *testing.T) {
	single := app(t, "single")
	place := train.ServiceScenarios(formulation.NewTopology(single), load(t, single, "constant:rps=120", time.Hour), time.Hour)[0]
	delays := train.Delays{CPUSlope: 0.5, RequestSlope: 0.002, Smoothing: 0.4, SLA: 0.25, MeanCPU: 0.5, MeanRequests: 60, MeanReplicas: 3}
	static := func(replicas string) loadline.Policy {
		p, err := policy.New("static:replicas="+replicas, place.App)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	// N = 120*3/60 = 6 pods' worth; on 4: CPU 0.5*6/4, requests min(120, 20*4).
	got, err := train.EvaluateENV2(context.Background(), train.ENV2Config{Scenario: place, Delays: delays}, static("4"))
	if err != nil {
		t.Fatal(err)
	}
	if want := 0.4 * (0.5*0.75 + 0.002*80); math.Abs(got.Delay-want) > 1e-3 || math.Abs(got.MeanPods-4) > 0.05 {
		t.Errorf("%+v, want a delay of %v with 4 pods", got, want)
	}
	if got.Bound() != "" || got.OverSLA > 0.02 {
		t.Errorf("bound %q, over the SLA %v", got.Bound(), got.OverSLA)
	}
	printed, err := train.EvaluateENV2(context.Background(), train.ENV2Config{Scenario: place, Delays: delays, AsPrinted: true},
		static("4"))
	if err != nil {
		t.Fatal(err)
	}
	if want := 0.4 * (0.5*0.25 + 0.002*80); math.Abs(printed.Delay-want) > 1e-3 {
		t.Errorf("as printed: %v, want %v", printed.Delay, want)
	}
	if got, err = train.EvaluateENV2(context.Background(), train.ENV2Config{Scenario: place, Delays: delays},
		static("1")); err != nil || got.Bound() != "min" || got.OverSLA != 1 {
		t.Errorf("one replica: %+v, %v", got, err)
	}
	hpa, err := policy.New("hpa:target=50", place.App)
	if err != nil {
		t.Fatal(err)
	}
	// At CPU = 0.5 the equations have six pods.
	if got, err = train.EvaluateENV2(context.Background(), train.ENV2Config{Scenario: place, Delays: delays}, hpa); err != nil ||
		math.Abs(got.MeanPods-6) > 0.2 {
		t.Errorf("HPA at 50 %%: %+v, %v", got, err)
	}
	ursa, err := policy.New("autothrottle", place.App)
	if err != nil {
		t.Fatal(err)
	}
	if got, err = train.EvaluateENV2(context.Background(), train.ENV2Config{Scenario: place, Delays: delays}, ursa); err != nil ||
		got.Held == 0 {
		t.Errorf("a policy that needs what ENV2 does not give must hold: %+v, %v", got, err)
	}
}

func TestThePastShowsWhatTheAutoscalerDid(t *testing.T) {
	single := app(t, "single")
	users := load(t, single, "diurnal:low=20,high=600,period=2h", 6*time.Hour)
	h, err := simulate.RecordHistory(context.Background(), simulate.HistorySpec{
		App: single, Load: users, Workload: "day", Policy: "hpa", Engine: "fluid", Duration: 6 * time.Hour, Step: 15 * time.Second,
		Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	place := train.ServiceScenarios(formulation.NewTopology(single), users, 6*time.Hour)[0]
	past := train.Demonstrations{Problem: problem(t, "scaling-ops"), Topology: formulation.NewTopology(place.App), History: h,
		Service: place.Service, Reference: place.Reference}
	more, less, steps := 0, 0, 0
	n := past.Each(func(tr rl.Transition) {
		steps++
		// What is seen next has the replicas that the choice led to, one step at a time.
		change := float64(tr.Next[2] - tr.Observation[2])
		switch {
		case change > 0 && tr.Action.Choice != 2, change < 0 && tr.Action.Choice != 0, change == 0 && tr.Action.Choice != 1:
			t.Errorf("replicas changed by %v, choice %d", change, tr.Action.Choice)
		case change > 0:
			more++
		case change < 0:
			less++
		}
	})
	if n != steps || n < 300 || more == 0 || less == 0 {
		t.Errorf("%d steps (%d told), %d up, %d down", steps, n, more, less)
	}
	past.Service = "nobody"
	if past.Each(func(rl.Transition) { t.Error("a step of nobody") }) != 0 {
		t.Error("nobody has a past")
	}
}

func TestScales(t *testing.T) {
	e, err := train.NewENV1(train.ENV1Config{
		Rows: []train.HistoryRow{{CPU: 0.2, Requests: 100, Replicas: 2},
			{CPU: 0.8, Requests: 100, Replicas: 2}}, MinReplicas: 2, MaxReplicas: 2, Steps: 1,
		Delays: train.Delays{Smoothing: 0.4, SLA: 0.25},
	})
	if err != nil {
		t.Fatal(err)
	}
	scales := train.MeasureScales(e, 1, 200, 1)
	if math.Abs(scales[0].Mean-0.5) > 0.1 || math.Abs(scales[0].Spread-0.3) > 0.05 ||
		scales[1] != (formulation.Scale{Mean: 100, Spread: 1}) {
		t.Errorf("scales %v", scales)
	}
	s := train.ScaledEnv{e, scales}
	o, action := make([]float32, 3), rl.Action{Choice: 1}
	s.Reset(rl.NewRNG(1, 1).Rand, o)
	if math.Abs(math.Abs(float64(o[0]))-1) > 0.2 || o[1] != 0 {
		t.Errorf("normalised %v", o)
	}
	s.Step(&action, o)
	if o[1] != 0 {
		t.Errorf("normalised %v", o)
	}
}
