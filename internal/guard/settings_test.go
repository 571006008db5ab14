package guard_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/loop"
)

func TestDefaultsAreValid(t *testing.T) {
	if err := guard.Defaults().Validate(webApp()); err != nil {
		t.Error(err)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	s := guard.Defaults()
	s.Off = []string{"grey", "clamp"}
	s.Data.MaxAge, s.Data.FloorAfter = 0, time.Second
	s.Faults.Most = 0
	s.Burn.Windows = []guard.BurnWindows{{Short: time.Hour, Long: time.Minute, Rate: math.NaN()},
		{Short: time.Minute, Long: time.Hour, Rate: 1.5}}
	s.Burn.Recovered, s.Burn.LongestRecovery, s.Burn.ScaleInWindow = 2, time.Second, 0
	s.Step.DownPods, s.Step.SizeUp = 0, 0.5
	s.CoolDown.Down = -time.Second
	s.Observed.OfLimit = 1.5
	s.Disagreement.Low, s.Disagreement.High = 2, math.Inf(1)
	s.Gray.Part = 0
	s.Floor = map[string]guard.Safe{"wbe": {}, "web": {Replicas: 99, CPU: -1}}
	err := s.Validate(webApp())
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`guard "grey" cannot be left out; did you mean "gray"`, `guard "clamp" cannot be left out`,
		"data.maxAge 0s", "data.floorAfter 1s must be longer than data.holdFor", "faults.most 0",
		"burn.windows[0]: short 1h0m0s", "burn.windows[0].rate NaN", "burn.windows[1].rate 1.5 must not be below burn.recovered 2",
		"burn.longestRecovery 1s", "burn.scaleInWindow 0s", "step.downPods 0", "step.sizeUp 0.5", "coolDown.down -1s",
		"observed.ofLimit 1.5",
		"disagreement.low 2", "disagreement.high +Inf", "gray.part 0", `unknown service "wbe"; did you mean "web"`,
		"floor.web.replicas 99 is above the service's upper bound 40", "floor.web.cpu -1",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
}

func TestChainAllocatesNothingWhileAllIsWell(t *testing.T) {
	sc := newFixture()
	chain := guard.Chain(guard.Defaults(), sc.App, says{toReplicas(10), true})
	pass := func() {
		sc.later(15 * time.Second)
		for _, v := range []*loadline.Sample{&sc.web().Rate, &sc.web().CPU, &sc.Now().Kinds[0].Rate, &sc.Now().Kinds[0].OverSLO} {
			v.At = sc.now
		}
		for _, g := range chain {
			w, watches := g.(loop.Watcher)
			if watches {
				w.Watch(sc.now, sc.Situation)
			}
			if got, why := g.Check(sc.now, sc.Situation, 0, toReplicas(10)); got != toReplicas(10) || why != "" {
				t.Fatalf("%s makes %+v of what there is: %s", g.Name(), got, why)
			}
			if watches {
				w.Decided(sc.now, sc.Situation, loadline.Plan{})
			}
		}
	}
	if n := testing.AllocsPerRun(100, pass); n > 0 {
		t.Errorf("%v allocations per pass", n)
	}
}

func TestChainOrder(t *testing.T) {
	names := func(s guard.Settings, rule guard.Adviser) string {
		var all []string
		for _, g := range guard.Chain(s, webApp(), rule) {
			all = append(all, g.Name())
		}
		return strings.Join(all, " ")
	}
	if got, want := names(guard.Defaults(),
		says{}), "sense bounds disagreement observed starting burning gray cool-down step absent clamp"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s := guard.Defaults()
	s.Off = []string{"gray", "observed", "startup-cpu"}
	if got, want := names(s, nil), "sense bounds starting burning cool-down step absent clamp"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := guard.Around(guard.Defaults(), webApp(), nil, nil); err == nil {
		t.Error("a guard without a rule")
	}
}
