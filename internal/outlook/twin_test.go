package outlook

import (
	"fmt"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// scaled is a decision to go from some replicas to others at an observed rate.
func scaled(a *loadline.App, rate float64, from, to int) (*loadline.Decision, loadline.Situation) {
	at := desired(from, 1, 1)
	sample := loadline.Sample{Value: rate, At: noon}
	s := loadline.Situation{App: a, Allocation: at, InFlight: at, Window: []loadline.Observation{{
		At: noon, Services: []loadline.ServiceObservation{{Rate: sample}}, Kinds: []loadline.KindObservation{{Rate: sample}},
	}}}
	setting := loadline.Setting{Replicas: loadline.Some(to)}
	return &loadline.Decision{
		At: noon, Proposal: loadline.Proposal{Services: []loadline.ServiceProposal{{Setting: setting}}},
		Plan: loadline.Plan{Services: []loadline.ServicePlan{{Setting: setting}}},
	}, s
}

func foresee(t *testing.T, twin *Twin, d *loadline.Decision, s loadline.Situation) loadline.ServiceOutlook {
	t.Helper()
	twin.Foresee(d, s)
	if d.Outlook == nil || len(d.Outlook.Services) != 1 {
		t.Fatalf("outlook %+v", d.Outlook)
	}
	return d.Outlook.Services[0]
}

func TestCapacityGrowsWithReplicasAndBoundsTheLatency(t *testing.T) {
	d, s := scaled(app(), 250, 2, 4)
	o := foresee(t, &Twin{App: app()}, d, s)
	// A replica of one core serves 100 requests of 10 ms at most.
	if c := o.Before.Capacity; c < 120 || c > 200 || o.Before.Saturation < 199 || o.Before.Saturation > 201 {
		t.Errorf("two replicas: capacity %.0f, saturation %.0f", c, o.Before.Saturation)
	}
	if o.Planned.Capacity < 1.9*o.Before.Capacity {
		t.Errorf("capacity %.0f of two replicas, %.0f of four", o.Before.Capacity, o.Planned.Capacity)
	}
	if o.Before.Sufficient(o.Load) || o.Before.Latency != 0 {
		t.Errorf("two replicas under 250 requests/s: %+v", o.Before)
	}
	if !o.Planned.Sufficient(o.Load) || o.Planned.Latency <= 0 || o.Planned.Latency > o.Part.Latency {
		t.Errorf("four replicas under 250 requests/s: %+v, part %+v", o.Planned, o.Part)
	}
	if o.RunnerUp.Allocation.Replicas != 3 || o.RunnerUp.PerHour >= o.Planned.PerHour || o.RunnerUp.Latency <= o.Planned.Latency {
		t.Errorf("runner-up %+v, planned %+v", o.RunnerUp, o.Planned)
	}
	if o.Users != 0 || len(d.Outlook.Users) != 1 || d.Outlook.Users[0].Latency <= 0 {
		t.Errorf("users %+v", d.Outlook)
	}
}

func TestTheLoadIsTheForecastWhereThatIsHigher(t *testing.T) {
	forecast := func(values ...float64) []loadline.Forecast {
		f := loadline.Forecast{Step: 30 * time.Second}
		for _, v := range values {
			f.Median = append(f.Median, loadline.Sample{Value: v, At: noon})
		}
		return []loadline.Forecast{f}
	}
	for _, row := range []struct {
		name     string
		expects  loadline.LoadAhead
		forecast []loadline.Forecast
		load     float64
		ahead    time.Duration
	}{
		{"no forecast", loadline.LoadAhead{}, nil, 100, 0},
		{"a falling one", loadline.LoadAhead{}, forecast(90, 80), 100, 0},
		{"the loop's, at its highest", loadline.LoadAhead{}, forecast(120, 180, 150), 180, time.Minute},
		{"the policy's own", loadline.LoadAhead{Rate: 140, Within: 2 * time.Minute}, forecast(500), 140, 2 * time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			d, s := scaled(app(), 100, 2, 3)
			d.Proposal.Services[0].Expects, s.Forecast = row.expects, row.forecast
			if o := foresee(t, &Twin{App: app()}, d, s); o.Load != row.load || o.Ahead != row.ahead {
				t.Errorf("%v within %v, want %v within %v", o.Load, o.Ahead, row.load, row.ahead)
			}
		})
	}
}

func TestRunnerUps(t *testing.T) {
	a := app()
	choice := loadline.Alternative{Setting: loadline.Setting{Replicas: loadline.Some(7)}}
	half := loadline.Setting{CPULimit: loadline.Some(0.5)}
	for _, row := range []struct {
		name     string
		from, to int
		own      *loadline.Alternative
		setting  loadline.Setting
		want     loadline.Allocation
	}{
		{"the policy's own", 2, 4, &choice, loadline.Setting{}, desired(7, 1, 1)[0]},
		{"its own is what the guards left: one fewer", 2, 7, &choice, loadline.Setting{}, desired(6, 1, 1)[0]},
		{"one fewer", 8, 3, nil, loadline.Setting{}, desired(2, 1, 1)[0]},
		{"one more where none fewer is allowed", 2, 1, nil, loadline.Setting{}, desired(2, 1, 1)[0]},
		{"the present size", 2, 2, nil, half, desired(2, 1, 1)[0]},
	} {
		t.Run(row.name, func(t *testing.T) {
			d, s := scaled(a, 100, row.from, row.to)
			d.Proposal.Services[0].RunnerUp = row.own
			if !row.setting.Empty() {
				d.Plan.Services[0].Setting = row.setting
			}
			if o := foresee(t, &Twin{App: a}, d, s); o.RunnerUp.Allocation != row.want {
				t.Errorf("%+v, want %+v", o.RunnerUp.Allocation, row.want)
			}
		})
	}
}

func TestNoEstimateWithoutAModelOrALoad(t *testing.T) {
	unmodelled := app()
	unmodelled.Services[0].CPU = loadline.Dist{}
	d, s := scaled(unmodelled, 100, 2, 3)
	(&Twin{App: unmodelled}).Foresee(d, s)
	if d.Outlook != nil && len(d.Outlook.Services) > 0 || Known(unmodelled) || !Known(app()) {
		t.Errorf("an estimate without demands: %+v", d.Outlook)
	}
	d, s = scaled(app(), 100, 2, 3)
	s.Window[0].Services[0].Rate, s.Window[0].Kinds[0].Rate = loadline.Sample{}, loadline.Sample{}
	if (&Twin{App: app()}).Foresee(d, s); d.Outlook != nil {
		t.Errorf("an estimate without a load: %+v", d.Outlook)
	}
	d, s = scaled(app(), 100, 2, 3)
	d.Plan = loadline.Plan{}
	if (&Twin{App: app()}).Foresee(d, s); d.Outlook != nil {
		t.Errorf("an estimate without a change: %+v", d.Outlook)
	}
}

// BenchmarkForesee is a pass that changes every one of 200 services.
func BenchmarkForesee(b *testing.B) {
	const n = 200
	a := app()
	root := &a.Kinds[0].Root
	for i := 1; i < n; i++ {
		s := a.Services[0]
		s.Name = fmt.Sprintf("s%d", i)
		a.Services = append(a.Services, s)
		if i%10 == 1 {
			root.Stages = append(root.Stages, nil)
		}
		stage := &root.Stages[len(root.Stages)-1]
		*stage = append(*stage, loadline.Call{Service: i, Probability: 1, Times: 1, Work: 0.1})
	}
	a.Kinds[0].SLO.Latency, a.Nodes[0].Cores = 10*time.Second, 4096
	d, s := scaled(a, 100, 2, 3)
	s.Window[0].Services = nil
	s.InFlight, d.Plan.Services = nil, nil
	for i := range n {
		s.InFlight = append(s.InFlight, desired(2, 0.5, 1)[0])
		s.Window[0].Services = append(s.Window[0].Services, loadline.ServiceObservation{Rate: s.Window[0].Kinds[0].Rate})
		d.Plan.Services = append(d.Plan.Services, loadline.ServicePlan{Service: i, Setting: loadline.Setting{Replicas: loadline.Some(3)}})
	}
	twin := &Twin{App: a}
	b.Run("services", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for i := range n {
				if _, ok := twin.Service(s, Change{Service: i, Planned: desired(3, 1, 1)[0]}); !ok {
					b.Fatal("no estimate")
				}
			}
		}
	})
	b.Run("users", func(b *testing.B) {
		for b.Loop() {
			var o loadline.Outlook
			if twin.foreseeUsers(&o, d.Plan, s); len(o.Users) == 0 {
				b.Fatal("no users")
			}
		}
	})
}
