package console

import (
	"encoding/json"
	"log/slog"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/decisionlog"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// decided is a record of one service with a rate, and of a kind with a share over the SLO.
func decided(at time.Time, replicas, planned int, rate, over float64) *decisionlog.Record {
	sample := func(v float64) loadline.Sample { return loadline.Sample{Value: v, At: at} }
	app := &loadline.App{Services: []loadline.Service{{Name: "web"}}, Kinds: []loadline.Kind{{Name: "page"}}}
	o := loadline.Observation{At: at, Services: []loadline.ServiceObservation{{Rate: sample(rate)}},
		Kinds: []loadline.KindObservation{{Rate: sample(rate), OverSLO: sample(over), AtSLO: sample(0.1 + over)}}}
	d := &loadline.Decision{At: at, Applied: at}
	if planned != replicas {
		d.Plan.Services = []loadline.ServicePlan{{Service: 0, Setting: loadline.Setting{Replicas: loadline.Some(planned)}}}
	}
	now := []loadline.Allocation{{Replicas: replicas, Size: loadline.Size{CPURequest: 0.5}}}
	r := decisionlog.Of(d, loadline.Situation{App: app, Window: []loadline.Observation{o}, Allocation: now, InFlight: now})
	r.Finish(d)
	return r
}

func TestPastIsBoundedAndAbsentIsNull(t *testing.T) {
	h := newHistory("", slog.New(slog.DiscardHandler), func() time.Time { return noon }, func(key) {})
	k := key{"shop", "web"}
	steps := int(Window/Step) + 100
	for i := range steps {
		at := noon.Add(time.Duration(i-steps) * Step)
		if i == steps-5 {
			continue // nothing was decided in this minute
		}
		h.add(k, nil, decided(at, 2+i%2, 3-i%2, 10, 0))
	}
	p := h.of(k)
	if len(p.points) != int(Window/Step) || len(p.changes) > mostChanges {
		t.Errorf("%d points and %d changes are kept", len(p.points), len(p.changes))
	}
	s := p.series(noon.Add(-10*Step), "web")
	if len(s.Times) != 9 || len(s.Services) != 1 || len(s.Services[0].Rate) != 9 || s.Services[0].Rate[0] != 10 {
		t.Errorf("series: %+v", s)
	}
	if !math.IsNaN(s.Services[0].CPU[0]) {
		t.Errorf("CPU that was not measured is %v", s.Services[0].CPU[0])
	}
	text, err := json.Marshal(s.Services[0].CPU)
	if err != nil || !strings.HasPrefix(string(text), "[null,null") {
		t.Errorf("it is written as %s, %v", text, err)
	}
	var back Column
	if err := json.Unmarshal(text, &back); err != nil || len(back) != 9 || !math.IsNaN(back[0]) {
		t.Errorf("and read as %v, %v", back, err)
	}
}

func TestErrorBudget(t *testing.T) {
	h := newHistory("", slog.New(slog.DiscardHandler), func() time.Time { return noon }, func(key) {})
	k := key{"shop", "web"}
	h.add(k, nil, decided(noon.Add(-2*Step), 2, 2, 100, 0))
	h.add(k, nil, decided(noon.Add(-Step), 2, 2, 300, 0.01))
	var l v1alpha1.LoadLine
	l.Spec.Objectives = []v1alpha1.Objective{{Kind: "*", Latency: v1alpha1.Duration{Duration: 250 * time.Millisecond}}}
	l.Status.Objectives = []v1alpha1.ObjectiveStatus{{Kind: "page"}}
	o := summary(&l, h.of(k)).Objectives[0]
	// 3 of 400 requests were over the SLO, and 1 % may be.
	if o.Attainment == nil || math.Abs(*o.Attainment-0.9925) > 1e-9 || math.Abs(*o.BudgetLeft-0.25) > 1e-9 || o.Target != 0.25 {
		t.Errorf("the objective is %+v", o)
	}
	if o := Summary(&l).Objectives[0]; o.Attainment != nil || o.BudgetLeft != nil {
		t.Errorf("without a record it is %+v", o)
	}
}

func TestReviewsAreForgottenInTime(t *testing.T) {
	var c cache[int, bool]
	for i := range 3 * mostReviews {
		c.put(i, true, noon)
	}
	if len(c.kept) > mostReviews {
		t.Errorf("%d reviews are kept", len(c.kept))
	}
	c.put(1, true, noon)
	if _, known := c.get(1, noon.Add(reviewedFor-1)); !known {
		t.Error("a fresh review is not known")
	}
	for _, at := range []time.Time{noon.Add(reviewedFor), noon.Add(-time.Second)} {
		if _, known := c.get(1, at); known {
			t.Errorf("a review of %v is used at %v", noon, at)
		}
	}
}

func TestHosts(t *testing.T) {
	s := &Server{options: Options{Hosts: []string{"loadline-console.loadline-system"}}}
	for host, want := range map[string]bool{
		"127.0.0.1:9443": true, "[::1]:9443": true, "10.1.2.3": true, "localhost:1": true, "LoadLine-console.loadline-system:9443": true,
		"evil.example": false, "localhost.evil.example:9443": false, "127.0.0.1.evil.example": false, "": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		if r.Host = host; s.hostKnown(r) != want {
			t.Errorf("%q is accepted: %v", host, !want)
		}
	}
}

func TestTokensNeedACertificate(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:0": true, "localhost:1": true, ":9443": false, "10.0.0.1:9443": false} {
		if err := checkPlain(Options{Address: address}); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}
