package policy

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

// shopPast is a history of the synthetic application, whose visits cost twice as much as in the
// run: calm at 100 req/s, and every hour four minutes at 400, after a step at 250.
func shopPast(app *loadline.App, end time.Time, long, step time.Duration) *history.History {
	steps := int(long / step)
	h := &history.History{Start: end.Add(-time.Duration(steps-1) * step), Step: step, Steps: steps}
	h.Manifest = history.Manifest{Source: "test", Start: h.Start, Step: step, Steps: steps}
	users := history.Calls{To: app.Services[0].Name, Operation: app.Kinds[0].Name}
	users.Series[history.CallRate] = history.NewSeries(steps)
	for i := range app.Services {
		s := history.Service{Name: app.Services[i].Name}
		for _, m := range []history.ServiceMetric{history.Rate, history.CPU, history.Ready, history.Startup, history.Concurrency} {
			s.Series[m] = history.NewSeries(steps)
		}
		h.Services = append(h.Services, s)
	}
	for t := range steps {
		load := 100.0
		if in := time.Duration(t) * step % time.Hour; in < 4*time.Minute {
			load = 400
			if in < step {
				load = 250
			}
		}
		users.Series[history.CallRate][t] = float32(load)
		for i := range h.Services {
			rate := load * float64(i+1)
			s := &h.Services[i].Series
			s[history.Rate][t], s[history.Ready][t], s[history.Startup][t] = float32(rate), 10, 20
			s[history.CPU][t], s[history.Concurrency][t] = float32(2*shopCost*rate+shopIdle*10), float32(rate*0.02)
		}
	}
	h.Calls = []history.Calls{users}
	return h
}

func TestPlannerStartsWithAHistory(t *testing.T) {
	first := plannerStart.Add(15 * time.Second)
	for _, c := range []struct {
		name string
		end  time.Time
	}{
		{"that ends before it", first.Add(-time.Minute)},
		{"that ends after it, and counts as weeks earlier", first.Add(50 * 24 * time.Hour)},
	} {
		r := newShopRun(t, "planner:vertical=off,feedback=off,limits=keep", 3)
		if err := r.policy.(*Planner).LearnHistory(r.app, shopPast(r.app, c.end, 36*time.Hour, 15*time.Second)); err != nil {
			t.Fatal(err)
		}
		p := r.policy.(*Planner)
		p.learnPast(first)
		for i := range p.services {
			d := &p.services[i].demand
			if math.Abs(d.cpu.cost/(2*shopCost)-1) > 0.05 {
				t.Errorf("a history %s: cost %.5f of service %d, want %.5f", c.name, d.cpu.cost, i, 2*shopCost)
			}
			if ratio, _ := d.visits.of(); math.Abs(ratio-float64(i+1)) > 0.01 {
				t.Errorf("a history %s: %.2f visits of service %d, want %d", c.name, ratio, i, i+1)
			}
			if start := p.services[i].starts.quantile(first, nil); start < 20*time.Second || start > 22*time.Second {
				t.Errorf("a history %s: starts of %v, want 20 s", c.name, start)
			}
		}
		if proposal := r.step(t, 100); len(proposal.Services) != 3 || len(p.load.past) < 36*60-2 {
			t.Errorf("a history %s: %d services planned, %d moments", c.name, len(proposal.Services), len(p.load.past))
		}
		if got := p.load.past[len(p.load.past)-1].at; got > first.UnixNano() {
			t.Errorf("a history %s: a moment at %v, after the first decision", c.name, time.Unix(0, got))
		}
		r.step(t, 250) // on the way to a burst of 400, as the history has many
		if got := p.load.ahead(time.Minute); got < 380 || got > 450 {
			t.Errorf("a history %s: %.0f req/s expected at the start of a burst, want 400", c.name, got)
		}
	}
}

func TestPlannerRejectsAnUnfitHistory(t *testing.T) {
	app, other := shop(2), shop(2)
	for i := range other.Services {
		other.Services[i].Name = "other-" + other.Services[i].Name
	}
	dir := t.TempDir()
	write := func(name string, h *history.History) string {
		path := filepath.Join(dir, name)
		if err := history.Write(path, h); err != nil {
			t.Fatal(err)
		}
		return path
	}
	end := plannerStart
	for _, c := range []struct {
		name, path string
		want       []string
	}{
		{"missing", filepath.Join(dir, "nowhere"), []string{"nowhere"}},
		{"of another application", write("other", shopPast(other, end, 2*time.Hour, time.Minute)),
			[]string{"no service of", "no requests of any kind"}},
		{"short and coarse", write("short", shopPast(app, end, 40*time.Minute, 2*time.Minute)), []string{"at most 1m0s", "at least 1h0m0s"}},
	} {
		_, err := New("planner:history="+c.path, app)
		if err == nil {
			t.Errorf("a history %s is accepted", c.name)
			continue
		}
		for _, want := range append(c.want, "history="+c.path) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("a history %s: error %q lacks %q", c.name, err, want)
			}
		}
	}
	if _, err := New("planner:history="+write("fit", shopPast(app, end, 2*time.Hour, time.Minute)), app); err != nil {
		t.Errorf("a fit history: %v", err)
	}
}
