package policy

import (
	"reflect"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

func TestJoinIsTheShortestNotation(t *testing.T) {
	app := twoServices()
	for _, c := range []struct {
		name      string
		web, cart []string
		want      string
	}{
		{"the same rule", []string{"hpa:target=60,down-window=60s"}, []string{"hpa:target=60,down-window=60s"}, "hpa:target=60,down-window=60s"},
		{"targets differ", []string{"hpa:target=60,memory-target=80"}, []string{"hpa:target=70,memory-target=80"},
			"hpa:target=60,cart=70,memory-target=80"},
		{"one has none", []string{"hpa:target=60"}, nil, "hpa:target=60,cart=off"},
		{"thresholds differ", []string{"keda:threshold=20,target=70"}, []string{"keda:threshold=5,target=70"}, "keda:web=20,cart=5,target=70"},
		{"behaviour differs", []string{"hpa:target=60"}, []string{"hpa:target=60,down-window=60s"},
			"by-service:web=hpa(target=60),cart=hpa(target=60;down-window=60s)"},
		{"methods differ", []string{"keda:threshold=20", "vpa:cpu=off"}, nil, "by-service:others=static,web=keda(threshold=20)|vpa(cpu=off)"},
		{"one by memory alone", []string{"hpa:target=off,memory-target=80"}, []string{"hpa:target=60"},
			"by-service:web=hpa(target=off;memory-target=80),cart=hpa(target=60)"},
	} {
		got := Join(app, [][]string{c.web, c.cart})
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if _, err := New(got, app); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestRulesOfEveryService(t *testing.T) {
	app := twoServices()
	for spec, want := range map[string][]Rule{
		"hpa:target=60": {{"hpa:target=60", []string{"web", "cart"}}},
		"by-service:others=static,web=keda(threshold=20)|vpa(cpu=off)": {{"keda:threshold=20", []string{"web"}},
			{"vpa:cpu=off", []string{"web"}}},
		"by-service:cart=hpa(target=60)": {{"hpa", []string{"web"}}, {"hpa:target=60", []string{"cart"}}},
	} {
		if got, err := RulesOf(spec, app); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", spec, got, err)
		}
	}
}

// TestEveryServiceHasItsOwnRule: a service is changed by its rules and by no other, each at its own
// period.
func TestEveryServiceHasItsOwnRule(t *testing.T) {
	app := twoServices()
	p, err := New("by-service:web=static(replicas=4;period=15s),cart=static(replicas=7)", app)
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Needs(); n.Period != 15*time.Second || n.Scrape != 15*time.Second || n.Window != time.Minute {
		t.Errorf("%+v", n)
	}
	s := loadline.Situation{App: app, Window: []loadline.Observation{{Services: make([]loadline.ServiceObservation, 2)}},
		Allocation: make([]loadline.Allocation, 2), InFlight: make([]loadline.Allocation, 2)}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, want := range []map[int]int{{0: 4, 1: 7}, {0: 4}, {0: 4}, {0: 4}, {0: 4, 1: 7}} {
		proposal, err := p.Decide(start.Add(time.Duration(i)*15*time.Second), s)
		if err != nil {
			t.Fatal(err)
		}
		got := map[int]int{}
		for _, sp := range proposal.Services {
			got[sp.Service] = sp.Setting.Replicas.Value
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("decision %d: %v, want %v", i, got, want)
		}
	}
}

// TestRulesOfServicesGoByTheClock: floors of a rule within by-service are those of the time of day
// that a simulation stands for.
func TestRulesOfServicesGoByTheClock(t *testing.T) {
	p, err := New("by-service:web=hpa(floor=08:00-20:00:web:5),cart=static", twoServices())
	if err != nil {
		t.Fatal(err)
	}
	midnight := time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC)
	p.(*ByService).SetBegin(midnight, midnight.Add(8*time.Hour))
	for _, r := range p.(*ByService).rules {
		if rule, is := r.Policy.(*setUp); is && rule.clock == 8*time.Hour {
			return
		}
	}
	t.Error("no rule has the clock")
}
