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

func TestFloorsFollowTheClock(t *testing.T) {
	for _, c := range []struct {
		spec  string
		clock time.Duration
		want  string
	}{
		{"hpa:target=60", 8 * time.Hour, "hpa:target=60"},
		{"hpa:floor=20:00-24:00:5", 0, "hpa:floor=20:00-24:00:5"},
		{"hpa:floor=off", 8 * time.Hour, "hpa:floor=off"},
		{"hpa:floor=08:00-20:00:5,target=60", 8 * time.Hour, "hpa:floor=00:00-12:00:5,target=60"},
		{"hpa:floor=08:00-20:00:web:5+22:00-02:00:3", 9*time.Hour + 30*time.Minute, "hpa:floor=22:30-10:30:web:5+12:30-16:30:3"},
		{"hpa:floor=00:00-24:00:5+08:00-20:00:7", 8 * time.Hour, "hpa:floor=00:00-12:00:7+00:00-24:00:5"},
		{"hpa:floor=00:00-24:00:5", 8 * time.Hour, "hpa:floor=00:00-24:00:5"},
		{"by-service:web=keda(threshold=5;floor=08:00-20:00:web:5),cart=hpa", time.Hour,
			"by-service:web=keda(threshold=5;floor=07:00-19:00:web:5),cart=hpa"},
	} {
		got := BeginAt(c.spec, c.clock)
		if got != c.want {
			t.Errorf("%s at %v: %s, want %s", c.spec, c.clock, got, c.want)
		}
		if _, err := New(got, twoServices()); err != nil {
			t.Error(err)
		}
	}
}
