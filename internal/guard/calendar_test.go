package guard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/calendar"
	"github.com/loadline/loadline/internal/guard"
)

func scheduled(t *testing.T, replicas int, start, end string) guard.Scheduled {
	t.Helper()
	w, err := calendar.ParseWindow(start, end, "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return guard.Scheduled{Name: "office", Window: w, Replicas: replicas}
}

func TestCalendar(t *testing.T) {
	app := &loadline.App{Services: []loadline.Service{{Name: "web"}, {Name: "cart"}}}
	g := guard.NewCalendar(map[string][]guard.Scheduled{"web": {
		scheduled(t, 4, "0 8 * * 1-5", "0 20 * * 1-5"), scheduled(t, 9, "0 12 * * 1-5", "0 13 * * 1-5"),
	}}, app)
	some, none := loadline.Some[int], loadline.Opt[int]{}
	morning, noon, night := "2026-11-18T08:00:00+01:00", "2026-11-18T12:30:00+01:00", "2026-11-18T20:00:00+01:00"
	for _, row := range []struct {
		name, at   string
		service    int
		is         loadline.Allocation
		want, then loadline.Opt[int]
	}{
		{"fewer become the schedule's", morning, 0, loadline.Allocation{Replicas: 2}, some(3), some(4)},
		{"nothing is proposed, and there are fewer", morning, 0, loadline.Allocation{Replicas: 2}, none, some(4)},
		{"nothing is proposed, and there are enough", morning, 0, loadline.Allocation{Replicas: 4}, none, none},
		{"more pass", morning, 0, loadline.Allocation{Replicas: 2}, some(7), some(7)},
		{"the largest of two counts", noon, 0, loadline.Allocation{Replicas: 4}, some(3), some(9)},
		{"none at night", night, 0, loadline.Allocation{Replicas: 4}, some(1), some(1)},
		{"none of another service", morning, 1, loadline.Allocation{Replicas: 4}, some(1), some(1)},
		{"a service that is browned out stays so", morning, 0, loadline.Allocation{Brownout: true}, none, none},
	} {
		now, err := time.Parse(time.RFC3339, row.at)
		if err != nil {
			t.Fatal(err)
		}
		s := loadline.Situation{App: app, InFlight: []loadline.Allocation{row.is, row.is}}
		got, why := g.Check(now, s, row.service, loadline.Setting{Replicas: row.want})
		if got.Replicas != row.then {
			t.Errorf("%s: %+v, want %+v", row.name, got.Replicas, row.then)
		}
		if changed := row.want != row.then; changed != strings.Contains(why, "by the schedule office") {
			t.Errorf("%s: the reason is %q", row.name, why)
		}
	}
}

func TestCalendarIsValidated(t *testing.T) {
	app := &loadline.App{Services: []loadline.Service{{Name: "web", Bounds: loadline.Bounds{MaxReplicas: 3}}}}
	set := guard.Defaults()
	set.Calendar = map[string][]guard.Scheduled{"web": {scheduled(t, 4, "0 8 * * *", "0 9 * * *")}, "wbe": nil}
	err := set.Validate(app)
	for _, want := range []string{`calendar: unknown service "wbe"`, "calendar.web[0].replicas 4 is above the service's upper bound 3"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
