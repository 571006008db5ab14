package fleet

import (
	"testing"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// TestHeldDecisionsAreWhatCameOfThem: an agent holds back its decisions until it gets the
// applied action of each.
func TestHeldDecisionsAreWhatCameOfThem(t *testing.T) {
	app, m := bookinfo(t, 1)
	l := link(t, func(c *Config) { c.Server = serve(t, t.TempDir(), "") })
	a, err := NewAgent(l, m, app, drpc.Work{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	a.Hold = true
	act(t, app, a)
	if waiting, _ := a.Publisher.Waiting(); waiting != 0 {
		t.Fatalf("%d decisions were sent before their outcome was known", waiting)
	}
	first := true
	a.Settle(func(service int, want drpc.Action) (drpc.Action, bool) {
		counts := first
		first = false
		return drpc.Action{0, 0, -1}, counts
	})
	if waiting, _ := a.Publisher.Waiting(); waiting != 1 {
		t.Errorf("%d decisions wait, want the one that counts", waiting)
	}
	start(t, a)
	flush(t, a.Publisher)
	wait(t, l)
	got, err := l.Fetch(10)
	if err != nil || len(got) != 1 || got[0].Action != (drpc.Action{0, 0, -1}) {
		t.Errorf("%+v, %v; want what was done", got, err)
	}
	a.Settle(func(int, drpc.Action) (drpc.Action, bool) { t.Error("settled twice"); return drpc.Action{}, true })
}
