package apps

import (
	"math"
	"strings"
	"testing"
)

func parseShop(t *testing.T, replace ...string) *Model {
	t.Helper()
	m, err := Parse("shop.yaml", []byte(strings.NewReplacer(replace...).Replace(shop)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestVisitsFollowProbabilityTimesAndVersions(t *testing.T) {
	app := parseShop(t).App
	visits := Visits(app)
	back := app.ServiceIndex("back")
	if got := visits[app.KindIndex("get")][back]; got != 2 {
		t.Errorf("get visits back %v times, want 2", got)
	}
	// Half of the visits of v2, which is half of the visits of front.
	if got := visits[app.KindIndex("put")][back]; got != 0.25 {
		t.Errorf("put visits back %v times, want 0.25", got)
	}
	// Two milliseconds, at the mean of the versions' factors 1 and 1.5.
	if got := CPUSeconds(app)[0][app.ServiceIndex("front")]; math.Abs(got-0.0025) > 1e-12 {
		t.Errorf("front takes %v s, want 0.0025", got)
	}
	if got := Mix(app, visits)[back]; got != 1.125 {
		t.Errorf("the average request visits back %v times, want 1.125", got)
	}
}

func TestUseOverridesWhatTheSubTreeStates(t *testing.T) {
	app := parseShop(t, "{use: twice}", "{use: twice, times: 3, probability: 0.5, optional: true}").App
	c := app.Kinds[0].Root.Stages[0][0]
	if c.Times != 3 || c.Probability != 0.5 || !c.Optional {
		t.Errorf("got %+v", c)
	}
}

func TestProvenanceIsInheritedAndCounted(t *testing.T) {
	m := parseShop(t)
	r := Check(m)
	// One tagged figure; the nodes and services are not tagged.
	if r.Shares[Measured] != 1 || r.Origins[0].Figures != 1 {
		t.Errorf("measured: %v, %v", r.Shares, r.Origins)
	}
	if r.Shares[Unmarked] == 0 || r.Shares[Defaulted] == 0 {
		t.Errorf("unmarked and defaulted: %v", r.Shares)
	}
	tagged := Check(parseShop(t, "services:", "services: !bench", "kinds:", "kinds: !bench", "calls:", "calls: !bench", "nodes:",
		"nodes: !bench"))
	if tagged.Shares[Unmarked] != 0 {
		t.Errorf("everything is under a tag: %v", tagged.Shares)
	}
}

func TestDefaultsAreThoseOfTheDocumentation(t *testing.T) {
	back := parseShop(t).App.Services[1]
	if back.CPU.CV != 1 || back.Wait.Mean != 0 || back.IdleCPU != 0 || back.Backlog != 80 || back.Startup.CV != 0.2 ||
		back.Replicas != 1 || back.OptionalPrice != 1 || back.Memory.PerRequest != 0 || back.Size.CPULimit != 0 {
		t.Errorf("got %+v", back)
	}
}

func TestWarningsAreGivenForWhatIsHardlyMeant(t *testing.T) {
	m := parseShop(t, "{use: twice}", "{service: back}", "latency: 100ms}\n    call: {service: front, stages: [{use",
		"latency: 1ms}\n    timeout: 500us\n    call: {service: front, stages: [{use",
		"{service: back, probability: 0.5, versions: [v2]}", "")
	m.App.Kinds[0].Root.Stages = nil
	all := strings.Join(Check(m).Warnings, "\n")
	for _, want := range []string{"service back is never called", "kind get cannot meet its SLO of 1ms", "times out after 500µs"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning that says %q in:\n%s", want, all)
		}
	}
}

func TestLargeTreesOfVisitsAreRefused(t *testing.T) {
	bad := strings.Replace(shop, "call: {service: front, stages: [{use: twice}]}",
		"call: {service: front, times: 1000, stages: [{use: twice, times: 1000}]}", 1)
	_, err := Parse("shop.yaml", []byte(bad))
	if err == nil || !strings.Contains(err.Error(), "at most 100000 visits") {
		t.Errorf("got %v", err)
	}
}
