package msars

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/profile"
)

func TestProfilesBetweenSizesAreInterpolatedByCapacity(t *testing.T) {
	app := shop()
	l, err := NewLibrary(app, profiles(app))
	if err != nil {
		t.Fatal(err)
	}
	for _, cores := range []float64{0.1, 0.25, 0.3, 0.5, 0.7, 1, 2} {
		got := l.Profile(1, loadline.Size{CPULimit: cores}, 99)
		want := profileOf("cart", cores, 99)
		if got == nil || len(got.Points) != len(want.Points) || got.Size.CPULimit != cores {
			t.Fatalf("at %v cores: %+v", cores, got)
		}
		for i, pt := range got.Points {
			if w := want.Points[i]; pt.Saturated != w.Saturated || math.Abs(pt.Load/w.Load-1) > 1e-9 ||
				math.Abs(pt.Latency-w.Latency) > 1e-9*w.Latency {
				t.Errorf("at %v cores point %d is %+v, want %+v", cores, i, pt, w)
			}
		}
	}
	if again := l.Profile(1, loadline.Size{CPULimit: 0.3}, 99); again != l.Profile(1, loadline.Size{CPULimit: 0.3}, 99) {
		t.Error("it is worked out again")
	}
	if p := l.Profile(1, loadline.Size{CPULimit: 0.3}, 95); p != nil {
		t.Errorf("%+v at a percentile that was not measured", p)
	}
	if p := l.Profile(1, loadline.Size{}, 99); p != nil {
		t.Errorf("%+v without a limit, of which nothing was measured", p)
	}
}

func TestOtherLoadsInterpolateToo(t *testing.T) {
	app := shop()
	set := profiles(app)
	for i := range set.Profiles { // profiles of half a core were measured at fewer loads
		if p := &set.Profiles[i]; p.Size.CPULimit == 0.5 {
			p.Points = append(p.Points[:1], p.Points[2:]...)
		}
	}
	l, err := NewLibrary(app, set)
	if err != nil {
		t.Fatal(err)
	}
	got := l.Profile(0, loadline.Size{CPULimit: 0.35}, 99)
	want := profileOf("front", 0.35, 99)
	for i, pt := range got.Points {
		// Straight lines are above convex curves, never below.
		if w := want.Points[i]; math.Abs(pt.Load/w.Load-1) > 1e-9 || pt.Latency < w.Latency-1e-9 || pt.Latency > 1.15*w.Latency {
			t.Errorf("point %d is %+v, want about %+v", i, pt, w)
		}
	}
}

func TestAServiceWithoutAProfileIsNamed(t *testing.T) {
	app := shop()
	set := profiles(app)
	set.Profiles = set.Profiles[:6] // search has none
	_, err := NewLibrary(app, set)
	if !errors.Is(err, profile.ErrAbsent) || !strings.Contains(err.Error(), "search at p99: measure it with loadline profile") {
		t.Errorf("%v", err)
	}
}

func TestCallsThatAreNeverMadeNeedNoProfile(t *testing.T) {
	app := shop()
	app.Services[0].Versions = []loadline.Version{{Name: "v1", Weight: 1, CPU: 1, Wait: 1}, {Name: "v2", CPU: 1, Wait: 1}}
	app.Kinds[1].Root.Stages[0][0].Versions = []int{1} // not deployed yet
	set := profiles(app)
	set.Profiles = set.Profiles[:6] // search has none
	if _, err := NewLibrary(app, set); err != nil {
		t.Error(err)
	}
	if got := Needed(app); len(got) != 2 || got[0] != (Need{0, 99}) || got[1] != (Need{1, 99}) {
		t.Errorf("%+v", got)
	}
}
