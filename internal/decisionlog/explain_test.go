package decisionlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

var explainedAt = time.Date(2026, 3, 1, 12, 4, 14, 0, time.UTC)

func sample(v float64, age time.Duration) loadline.Sample {
	return loadline.Sample{Value: v, At: explainedAt.Add(-age)}
}

// example is a decision that the rows below change.
type example struct {
	d loadline.Decision
	s loadline.Situation
	r *Record
}

func setReplicas(n int) loadline.Setting { return loadline.Setting{Replicas: loadline.Some(n)} }

func newExample() *example {
	app := &loadline.App{
		Services: []loadline.Service{{Name: "productpage"}},
		Kinds: []loadline.Kind{
			{Name: "page", SLO: loadline.SLO{Percentile: 99, Latency: 250 * time.Millisecond}},
			{Name: "elsewhere", SLO: loadline.SLO{Percentile: 99, Latency: time.Millisecond}, Root: loadline.Call{Service: 7}},
		},
	}
	size := loadline.Size{CPURequest: 0.2, CPULimit: 0.5, MemoryRequest: 64 << 20, MemoryLimit: 128 << 20}
	pods := make([]loadline.PodObservation, 3)
	for i := range pods {
		pods[i] = loadline.PodObservation{Phase: loadline.PodReady, Size: size, Created: explainedAt, Ready: explainedAt}
	}
	desired := []loadline.Allocation{{Replicas: 3, Size: size}}
	seven := 7 * time.Second
	return &example{
		d: loadline.Decision{
			At: explainedAt, Applied: explainedAt.Add(time.Second), Policy: "hpa",
			Proposal: loadline.Proposal{Services: []loadline.ServiceProposal{{Setting: setReplicas(6),
				Reason: "CPU at 91 % of the request, target 50 %"}}},
			Changed: []loadline.GuardChange{{Guard: "step", From: setReplicas(6), To: setReplicas(5), Reason: "at most 2 more at a time"}},
			Plan:    loadline.Plan{Services: []loadline.ServicePlan{{Setting: setReplicas(5)}}},
		},
		s: loadline.Situation{
			App: app, Allocation: desired, InFlight: desired,
			Window: []loadline.Observation{{
				At: explainedAt,
				Services: []loadline.ServiceObservation{{
					Rate: sample(84.21, seven), CPU: sample(0.546, seven), Memory: sample(100<<20, seven+10*time.Second),
					Latency: loadline.Latency{P99: sample(0.3104, seven)}, Pods: pods,
				}},
				Kinds: []loadline.KindObservation{
					{AtSLO: sample(0.3104, seven), OverSLO: sample(0.043, seven)}, {AtSLO: sample(9, seven)},
				},
			}},
		},
	}
}

func (s *example) service() *loadline.ServiceObservation { return &s.s.Window[0].Services[0] }

// examples, each one paragraph of testdata/sentences.txt.
var examples = []struct {
	name   string
	change func(*example)
	record func(*Record)
}{
	{"more replicas, cut by a guard", nil, nil},
	{"a runner-up and what the twin expected", func(s *example) {
		s.d.Proposal.Services[0].RunnerUp = &loadline.Alternative{Setting: setReplicas(4), Reason: "add one, valued 0.03 less"}
	}, func(r *Record) {
		r.Expected = &Outlook{Kind: "page", Percentile: 99, Latency: Seconds(180 * time.Millisecond),
			OverSLO: 0.72, Cores: 4.2}
		r.Services[0].Proposal.RunnerUp.Expected = &Outlook{Kind: "page", Percentile: 99,
			Latency: Seconds(260 * time.Millisecond), OverSLO: 1.04, Cores: 3.8, Failed: 0.002}
	}},
	{"an estimate of the twin, for a forecast", func(s *example) {
		s.d.Changed = nil
		s.d.Plan.Services[0].Setting = setReplicas(6)
		s.d.Outlook = sampleOutlook()
	}, nil},
	{"an estimate of the twin, of sizes", func(s *example) {
		s.d.Changed = nil
		s.d.Plan.Services[0].Setting = loadline.Setting{CPULimit: loadline.Some(0.25), CPURequest: loadline.Some(0.25)}
		s.d.Proposal.Services[0].Setting = s.d.Plan.Services[0].Setting
		s.d.Proposal.Services[0].RunnerUp = &loadline.Alternative{Setting: setReplicas(7), Reason: "replicas +1, valued 0.2 less"}
		s.d.Outlook = sampleOutlook()
		of := &s.d.Outlook.Services[0]
		of.Ahead, of.Load, of.Users = 0, 250, -1
		of.Planned.Allocation, of.Planned.Capacity = of.Before.Allocation, 0
		of.Planned.Allocation.Size.CPULimit, of.Planned.Allocation.Size.CPURequest = 0.25, 0.25
		of.RunnerUp.Allocation.Replicas, of.RunnerUp.Capacity, of.RunnerUp.PerHour = 7, 532, 0.07
	}, nil},
	{"before an announced event", func(s *example) {
		s.s.Announced = []loadline.Event{{Name: "sale", Start: explainedAt.Add(time.Hour), End: explainedAt.Add(2 * time.Hour), Factor: 3}}
	}, nil},
	{"during an announced event", func(s *example) {
		s.s.Announced = []loadline.Event{{Name: "sale", Start: explainedAt.Add(-time.Hour), End: explainedAt.Add(time.Hour), Factor: 2.5}}
	}, nil},
	{"left as it is", func(s *example) {
		s.d.Plan, s.d.Changed, s.d.Applied = loadline.Plan{}, nil, time.Time{}
		s.d.Proposal.Services[0] = loadline.ServiceProposal{Setting: setReplicas(3), Reason: "within tolerance"}
	}, nil},
	{"nothing measured: it holds", func(s *example) {
		*s.service() = loadline.ServiceObservation{Pods: s.service().Pods[:1]}
		s.s.Window[0].Kinds = nil
		s.d = loadline.Decision{At: explainedAt, Policy: "hpa", Err: fmt.Errorf("%w: no pod has a usable sample", loadline.ErrNoData)}
	}, nil},
	{"a figure that is none, and one of memory only", func(s *example) {
		s.service().CPU = sample(math.NaN(), 0)
		s.service().Rate = loadline.Sample{}
	}, nil},
	{"the cluster refuses", func(s *example) {
		s.d.Applied, s.d.Err = time.Time{}, errors.New("apply: the server is away.")
	}, nil},
	{"sizes and brownout", func(s *example) {
		want := loadline.Setting{CPURequest: loadline.Some(0.3), CPULimit: loadline.Some(0.0),
			MemoryLimit: loadline.Some[int64](1 << 30), Brownout: loadline.Some(true)}
		s.d.Changed = nil
		s.d.Proposal.Services[0] = loadline.ServiceProposal{Setting: want, Reason: "too slow"}
		s.d.Plan.Services[0].Setting = want
	}, nil},
	{"a guard refuses", func(s *example) {
		s.d.Changed = []loadline.GuardChange{{Guard: "roll-out", From: setReplicas(6), Reason: "a roll-out is under way"}}
		s.d.Plan, s.d.Applied = loadline.Plan{}, time.Time{}
	}, nil},
	{"a guard acts where the policy cannot", func(s *example) {
		s.d.Proposal, s.d.Err = loadline.Proposal{}, loadline.ErrNoData
		s.d.Changed = []loadline.GuardChange{{Guard: "floor", To: setReplicas(5), Reason: "nothing was measured for 10 min"}}
	}, func(r *Record) { r.Rung = "floor" }},
	{"Recommend", nil, func(r *Record) { r.Mode = "Recommend" }},
	{"a forecast, a part of the SLO, plans under way, one replica", func(s *example) {
		s.s.Forecast = []loadline.Forecast{{Step: 150 * time.Second, Median: []loadline.Sample{sample(90, 0), sample(120, 0)},
			High: []loadline.Sample{sample(100, 0), sample(140, 0)}}}
		s.s.PartialSLO = []loadline.SLO{{Percentile: 99.5, Latency: 200 * time.Millisecond}}
		s.s.InFlight = []loadline.Allocation{{Replicas: 2, Size: s.s.Allocation[0].Size}}
		s.d.Changed = nil
		s.d.Proposal.Services[0].Setting, s.d.Plan.Services[0].Setting = setReplicas(1), setReplicas(1)
	}, nil},
	{"the policy proposes nothing for it", func(s *example) {
		s.d = loadline.Decision{At: explainedAt, Policy: "students"}
	}, nil},
	{"nothing could be observed", func(s *example) {
		s.d = loadline.Decision{At: explainedAt, Policy: "hpa", Err: errors.New("observe: connection refused")}
		s.s = loadline.Situation{}
	}, nil},
}

func TestSentences(t *testing.T) {
	var b bytes.Buffer
	for _, row := range examples {
		s := newExample()
		if row.change != nil {
			row.change(s)
		}
		s.r = Of(&s.d, s.s)
		why := ""
		if s.r.Seen() {
			why = s.r.Services[0].Why
		}
		if row.record != nil {
			row.record(s.r)
		}
		fmt.Fprintf(&b, "# %s\n%s\nIn the status: %s\n\n", row.name, Explain(Entry{App: s.s.App, Record: s.r}, "productpage"), why)
		if want := Why(&s.d, s.s.App, 0); why != "" && why != want {
			t.Errorf("%s: the log has %q, the status %q", row.name, why, want)
		}
	}
	const file = "testdata/sentences.txt"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("differs from %s:\n%s", file, b.String())
	}
}

// FuzzExplain: every readable record can be explained.
func FuzzExplain(f *testing.F) {
	s := newExample()
	text, err := json.Marshal(Of(&s.d, s.s))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"services":[{"name":"a","plan":{},"proposal":{"runner_up":{}}}],"expected":{"over_slo":"+Inf"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r Record
		if json.Unmarshal(text, &r) != nil {
			return
		}
		for _, app := range []*loadline.App{nil, s.s.App} {
			e := Entry{App: app, Record: &r}
			if Explain(e, "none of them") == "" {
				t.Error("no text")
			}
			for i := range r.Services {
				name := r.Services[i].Name
				if Explain(e, name) == "" || ExplainSince(&e, name) == "" {
					t.Error("no text")
				}
			}
		}
	})
}
