package live

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// users is answers in which users' requests have these rates, and everything was
// scraped ten seconds ago.
func users(t *testing.T, s *Source, rates map[entry]float64) *answers {
	t.Helper()
	preset, err := prom.Load("nginx-ingress")
	if err != nil {
		t.Fatal(err)
	}
	s.settled.preset = preset
	a := &answers{plan: newPlan(preset, prom.Setting{Namespace: "shop", Scrape: 15 * time.Second}, s.o.Kinds), now: at}
	a.list = make([]answer, len(a.questions))
	for i := range a.questions {
		a.list[i].values, a.list[i].histograms = map[entry]float64{}, map[entry]*histogram{}
		for e := range rates {
			if a.questions[i].newest == none && a.questions[i].of == ofCalls {
				a.list[i].values[entry{name: e.name}] = 990
			}
		}
	}
	for e, v := range rates {
		a.list[a.call[history.CallRate]].values[e] = v
		a.list[a.call[history.CallErrors]].values[e] = v / 10
	}
	return a
}

func TestKindsAreFound(t *testing.T) {
	both := map[entry]float64{{"web", "GET /"}: 10, {"web", "POST /buy"}: 2, {"api", "GET /"}: 5}
	type kind struct {
		name  string
		entry int // of web, api, store
		where Where
	}
	for name, row := range map[string]struct {
		rates map[entry]float64
		kinds []kind
		want  []float64 // NaN = absent
		why   string
	}{
		"by place and operation": {both, []kind{{"buy", 0, Where{Service: "web", Operation: "POST /buy"}},
			{"api", 0, Where{Service: "api", Operation: ""}}},
			[]float64{2, 5}, ""},
		"all of a service": {both, []kind{{"all", 0, Where{Service: "web", Operation: ""}}}, []float64{12}, ""},
		"as a twin names them": {both, []kind{{"POST /buy", 0, Where{}}, {"web GET /", 0, Where{}}, {"api GET /", 1, Where{}}},
			[]float64{2, 10, 5}, ""},
		"the pool of rare ones": {both, []kind{{"POST /buy", 0, Where{}}, {"other at web", 0, Where{}}}, []float64{2, 10}, ""},
		"by the service's name": {map[entry]float64{{"web", ""}: 7}, []kind{{"web", 0, Where{}}}, []float64{7}, ""},
		"by where they enter":   {both, []kind{{"all requests", 0, Where{}}}, []float64{12}, ""},
		"what the others leave": {both, []kind{{"buy", 0, Where{Service: "web", Operation: "POST /buy"}},
			{"browse", 0, Where{}}}, []float64{2, 10},
			""},
		"two that cannot be told": {both, []kind{{"one", 0, Where{}}, {"two", 0, Where{}}}, []float64{math.NaN(), math.NaN()},
			"do not tell it from two"},
		"an operation that is misspelt": {both, []kind{{"buy", 0, Where{Service: "web", Operation: "POST /by"}}}, []float64{math.NaN()},
			`did you mean "POST /buy"`},
		"no operations at all": {map[entry]float64{{"web", ""}: 7}, []kind{{"buy", 0, Where{Service: "web", Operation: "POST /buy"}}},
			[]float64{math.NaN()}, "does not tell operations apart"},
		"users arrive elsewhere": {both, []kind{{"all requests", 2, Where{}}}, []float64{math.NaN()},
			"arrive at api, web, none at store"},
		"users are seen, not here": {both, []kind{{"all", 0, Where{Service: "store", Operation: ""}}}, []float64{math.NaN()}, "none at store"},
	} {
		t.Run(name, func(t *testing.T) {
			app := &loadline.App{Services: []loadline.Service{{Name: "web"}, {Name: "api"}, {Name: "store"}}}
			var where []Where
			for _, k := range row.kinds {
				app.Kinds = append(app.Kinds, loadline.Kind{Name: k.name, Root: loadline.Call{Service: k.entry}})
				where = append(where, k.where)
			}
			s := source(t, "http://localhost", Options{App: app, Kinds: where, Namespace: "shop"})
			a := users(t, s, row.rates)
			places := s.locate(a)
			for i, want := range row.want {
				var o loadline.KindObservation
				a.kind(i, &places[i], &app.Kinds[i], &o)
				if math.IsNaN(want) {
					absent(t, row.kinds[i].name, o.Rate)
					continue
				}
				near(t, row.kinds[i].name, o.Rate, want, 1e-9)
				near(t, row.kinds[i].name+" failed", o.Failed, want/10, 1e-9)
				sameTime(t, row.kinds[i].name, time.Unix(990, 0), o.Rate)
			}
			if !strings.Contains(places[0].why, row.why) {
				t.Errorf("the reason is %q, want %q", places[0].why, row.why)
			}
		})
	}
}

// TestKindsOfServices: where users are not told from callers, a kind is what its
// service is asked, until they are.
func TestKindsOfServices(t *testing.T) {
	app := application("web", "api")
	app.Kinds = append(app.Kinds, loadline.Kind{Name: "direct to api", Root: loadline.Call{Service: 1}})
	s := source(t, "http://localhost", Options{App: app, Namespace: "shop"})
	rates := func(of *answers) (all, direct loadline.Sample) {
		of.list[of.plan.service[history.Rate]].values = map[entry]float64{{name: "web"}: 30, {name: "api"}: 20}
		of.list[of.call[history.CallRate]].inside = map[string]float64{"api": 12}
		places := s.locate(of)
		var o [2]loadline.KindObservation
		for i := range o {
			of.kind(i, &places[i], &app.Kinds[i], &o[i])
		}
		return o[0].Rate, o[1].Rate
	}
	all, direct := rates(users(t, s, nil))
	near(t, "all that web is asked", all, 30, 0)
	near(t, "what no caller explains", direct, 8, 1e-9)
	all, direct = rates(users(t, s, map[entry]float64{{"web", ""}: 9, {"api", ""}: 1}))
	near(t, "users' requests to web", all, 9, 0)
	near(t, "what neither users nor callers explain", direct, 7, 1e-9)
	all, _ = rates(users(t, s, nil))
	absent(t, "once users were seen, others do not stand in", all)
}

func TestRestartsGoOn(t *testing.T) {
	s := source(t, "http://localhost", Options{App: application("web"), Namespace: "shop"})
	steps := []struct {
		counts map[string]float64
		pods   []string
		want   float64 // negative = absent
	}{
		{map[string]float64{"a": 3, "b": 0}, []string{"a", "b"}, 3},
		{map[string]float64{"a": 3, "b": 1}, []string{"a", "b"}, 4},
		{map[string]float64{"b": 1}, []string{"a", "b"}, 4}, // a is out of view
		{map[string]float64{}, []string{"a", "b"}, -1},
		{map[string]float64{"a": 3, "b": 2}, []string{"a", "b"}, 5},
		{map[string]float64{"b": 2}, []string{"b"}, 5}, // a is gone
		{map[string]float64{"b": 2, "c": 1}, []string{"b", "c"}, 6},
	}
	for i, step := range steps {
		a := users(t, s, nil)
		there := names{}
		for _, pod := range step.pods {
			there.add(pod)
		}
		for pod, n := range step.counts {
			a.list[a.pod[loadline.PodRestarts]].values[entry{name: pod}] = n
		}
		got := s.restarts.count(a, 0, step.pods)
		s.restarts.forget(there)
		if step.want < 0 {
			absent(t, "restarts", got)
		} else if !got.Present() || got.Value != step.want {
			t.Errorf("step %d: %v, want %v", i, show(got), step.want)
		}
	}
	if len(s.restarts.last) != 2 {
		t.Errorf("pods that are gone are remembered: %v", s.restarts.last)
	}
}
