package policy

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

func TestFactorsOfAnnouncedEvents(t *testing.T) {
	at := func(minutes int) time.Time { return plannerStart.Add(time.Duration(minutes) * time.Minute) }
	events := []loadline.Event{
		{Name: "sale", Start: at(60), End: at(120), Factor: 3}, {Name: "mail", Start: at(90), End: at(100), Factor: 2},
		{Name: "closed", Start: at(200), End: at(210), Factor: 0.1},
	}
	for _, c := range []struct {
		name       string
		at         int
		now, ahead float64
		by         string
	}{
		{"long before", 30, 1, 1, ""}, {"a lead time before", 58, 1, 3, "sale"}, {"within", 70, 3, 3, "sale"},
		{"before another one within", 88, 3, 6, "mail"}, {"within both", 95, 6, 6, "sale"}, {"before the end", 118, 3, 3, "sale"},
		{"at the end", 120, 1, 1, ""}, {"within one that lowers the load, which ends", 208, 0.1, 1, "closed"},
	} {
		if got := factorAt(events, at(c.at)); math.Abs(got-c.now) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.now)
		}
		got, by := factorAhead(events, at(c.at), 5*time.Minute)
		name := ""
		if by != nil {
			name = by.Name
		}
		if math.Abs(got-c.ahead) > 1e-9 || name != c.by {
			t.Errorf("%s: %v within five minutes by %q, want %v by %q", c.name, got, name, c.ahead, c.by)
		}
	}
}

// TestPlannerScalesForAnAnnouncedEventAndDoesNotLearnIt: three times the load for half an hour.
func TestPlannerScalesForAnAnnouncedEventAndDoesNotLearnIt(t *testing.T) {
	r := newShopRun(t, "planner:vertical=off,feedback=off,limits=keep,lead=2m,down-window=1m", 1)
	start := plannerStart.Add(time.Hour)
	r.announced = []loadline.Event{{Name: "sale", Start: start, End: start.Add(30 * time.Minute), Factor: 3}}
	usual, during := whole(100*shopCost/0.17), whole(300*shopCost/0.17)
	near := func(what string, want int) {
		t.Helper()
		if got := r.alloc[0].Replicas; math.Abs(float64(got-want)) > 1+0.1*float64(want) {
			t.Errorf("%d replicas %s, want %d", got, what, want)
		}
	}
	var reason string
	for r.now.Before(start.Add(40 * time.Minute)) {
		load := 100.0
		if next := r.now.Add(15 * time.Second); !next.Before(start) && next.Before(start.Add(30*time.Minute)) {
			load = 300
		}
		proposal := r.step(t, load)
		switch r.now.Sub(start) {
		case -5 * time.Minute:
			near("five minutes before", usual)
		case -time.Minute:
			near("a minute before", during)
			reason = proposal.Services[0].Reason
		case 20 * time.Minute:
			near("within it", during)
		case 35 * time.Minute:
			near("after it", usual)
		}
	}
	if !strings.Contains(reason, "3 times the usual by the announced event sale") {
		t.Errorf("reason %q does not name the event", reason)
	}
	if got := r.policy.(*Planner).load.ahead(2 * time.Minute); got > 130 {
		t.Errorf("%.0f req/s expected on the next day: the event was learned as usual load", got)
	}
}
