package drpc

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
)

// TestSharesAreSeenAndKept: response times are compared with the shares that a model was
// trained with, and no others.
func TestSharesAreSeenAndKept(t *testing.T) {
	app := shop()
	shares := &formulation.Shares{App: app.Name, Way: "parslo", Rate: 9,
		Services: []formulation.Share{{Service: app.Services[0].Name, Percentile: 99, Latency: 0.01}}}
	see := func(by *formulation.Shares) Local {
		encoder, err := NewEncoder(app)
		if err != nil {
			t.Fatal(err)
		}
		encoder.UseShares(by)
		var l Local
		if absent := encoder.Local(calm(app), 0, &l); absent != "" {
			t.Fatalf("%s is absent", absent)
		}
		return l
	}
	at := slices.Index(LocalFeatures[:], "latency_p99")
	plain, tight := see(nil), see(shares)
	if !(tight[at] > plain[at]) {
		t.Errorf("with a share of 10 ms latency_p99 is %v, without %v", tight[at], plain[at])
	}
	for i, name := range LocalFeatures {
		if i != at && plain[i] != tight[i] {
			t.Errorf("%s changed from %v to %v", name, plain[i], tight[i])
		}
	}
	m := untaught(t, app, Continuous)
	m.Shares = shares
	file, err := m.File()
	if err != nil {
		t.Fatal(err)
	}
	again, err := FromFile(file)
	if err != nil || !reflect.DeepEqual(again.Shares, shares) {
		t.Fatalf("the file holds %+v: %v", again.Shares, err)
	}
	p, err := NewPolicy(again, app, Work{Decider: ByStudents})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Partial()[0]; got != (loadline.SLO{Percentile: 99, Latency: 10 * time.Millisecond}) {
		t.Errorf("at work it is judged by %v", got)
	}
}
