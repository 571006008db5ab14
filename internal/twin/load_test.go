package twin_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	. "github.com/loadline/loadline/internal/twin"

	"github.com/loadline/loadline/internal/history"
)

func TestTheLoadOfAHistoryIsItsUsers(t *testing.T) {
	h := bookinfoHours()
	tw := bookinfoTwin()
	w, err := Load(h, tw.App)
	if err != nil {
		t.Fatal(err)
	}
	if w.Step != h.Step || len(w.Rates) != h.Steps {
		t.Fatalf("%d bins of %v, want %d of %v", len(w.Rates), w.Step, h.Steps, h.Step)
	}
	for i, r := range w.Rates {
		if v := Value(h.Calls[0].Series[history.CallRate], i); !math.IsNaN(v) && v != r {
			t.Fatalf("step %d has %v requests/s, want %v", i, r, v)
		}
	}
	if _, err := w.For(tw.App); err != nil {
		t.Error(err)
	}
}

func TestKindsKeepTheirShares(t *testing.T) {
	h := twoKinds(400)
	tw := fit(t, h, Options{})
	w, err := Load(h, tw.App)
	if err != nil {
		t.Fatal(err)
	}
	load, err := w.For(tw.App)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{40, 200, 380} {
		for _, c := range h.Calls {
			got, _ := load.Rate(tw.App.KindIndex(c.Operation), time.Duration(at)*h.Step)
			near(t, c.Operation, got, float64(c.Series[history.CallRate][at]), 0.1*got)
		}
	}
}

func TestShortGapsAreHeldAndLongOnesAreNot(t *testing.T) {
	h := copied(twoKinds(800))
	tw := fit(t, h, Options{})
	blank(h, 100, 110)
	w, err := Load(h, tw.App)
	if err != nil {
		t.Fatal(err)
	}
	if w.Rates[105] != w.Rates[99] {
		t.Errorf("%v in the gap, want %v as before it", w.Rates[105], w.Rates[99])
	}
	blank(h, 300, 300+int(MaxHold/h.Step)+1)
	var gap *GapError
	if _, err := Load(h, tw.App); !errors.As(err, &gap) || !gap.Gap.From.Equal(h.At(300)) {
		t.Fatalf("err %v, want the gap at step 300", err)
	}
	parts, err := Loads(h, tw.App)
	if err != nil || len(parts) != 2 {
		t.Fatalf("%d stretches, %v", len(parts), err)
	}
	if parts[0].To != 300 || parts[0].Filled != 10 || parts[1].From != 300+61 || parts[1].To != h.Steps {
		t.Errorf("stretches %+v", parts)
	}
}

func TestWithoutUsersTheRestIsTheirs(t *testing.T) {
	h := copied(bookinfoHours())
	h.Calls = slices.DeleteFunc(h.Calls, func(c history.Calls) bool { return c.From == "" })
	tw := fit(t, h, Options{})
	if len(tw.App.Kinds) != 1 || tw.App.Kinds[0].Name != "productpage" {
		t.Fatalf("kinds %+v, want the one that enters at productpage", tw.App.Kinds)
	}
	warned(t, tw, "no user requests")
	w, err := Load(h, tw.App)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "requests", w.Requests(), must(Load(bookinfoHours(), bookinfoTwin().App)).Requests(), 0.02*w.Requests())
}

func TestWithoutCallsVisitsAreRegressed(t *testing.T) {
	h := copied(bookinfoHours())
	h.Calls = slices.DeleteFunc(h.Calls, func(c history.Calls) bool { return c.From != "" })
	tw := fit(t, h, Options{})
	warned(t, tw, "regressed from the rates")
	root := tw.App.Kinds[0].Root
	if tw.App.Services[root.Service].Name != "productpage" || CallsUnder(&root) != 4 {
		t.Fatalf("root %+v, want productpage with three callees", root)
	}
}

func TestAHistoryOfAnotherApplicationIsRefused(t *testing.T) {
	tw := singleTwin()
	if _, err := Load(bookinfoHours(), tw.App); err == nil {
		t.Error("no error")
	}
}
