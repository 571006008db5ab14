package twin_test

import (
	"reflect"
	"testing"
	"time"

	. "github.com/loadline/loadline/internal/twin"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/sim/pool"
)

// fewWorkers is a service that mostly waits, with five workers.
func fewWorkers() *loadline.App {
	app := builtIn("single")
	s := &app.Services[0]
	s.Workers, s.Backlog = 5, 100
	s.CPU, s.Wait = loadline.Dist{Mean: 2 * time.Millisecond, CV: 1}, loadline.Dist{Mean: 80 * time.Millisecond, CV: 0.5}
	app.Kinds[0].SLO = loadline.SLO{Percentile: 99, Latency: 400 * time.Millisecond}
	return app
}

// busierLater is a history of fewWorkers whose held-out part is busier than the rest. The proxies
// do not count the requests that wait for a worker.
func busierLater(t *testing.T) *history.History {
	h := must(recording{app: fewWorkers(), load: "diurnal:low=4,high=14,period=90m,peak=30m+step:from=0,to=46,at=5h", engine: "event",
		policy: "static", duration: 6 * time.Hour}.run())
	h.Service("server").Series[history.Queue] = nil
	return h
}

func rangeOf(t *testing.T, tw *Twin, f Figure) *Range {
	t.Helper()
	for i := range tw.Ranges {
		if tw.Ranges[i].Figure == f {
			return &tw.Ranges[i]
		}
	}
	t.Fatalf("there is no range of %s in %+v", f, tw.Ranges)
	return nil
}

func TestGuessedWorkersHaveARangeAndItsEffect(t *testing.T) {
	tw := fit(t, busierLater(t), Options{Sensitivity: true,
		Objectives: []Objective{{SLO: loadline.SLO{Percentile: 99, Latency: 400 * time.Millisecond}}}})
	r := rangeOf(t, tw, Workers)
	t.Logf("%+v: over SLO %v, %v, %v", r, r.AtLow, r.AtLikely, r.AtHigh)
	if r.Low > 5 || r.Low < 2 || r.Likely != ManyWorkers || r.High != ManyWorkers {
		t.Errorf("workers %v .. %v .. %v, want a range that holds the true 5", r.Low, r.Likely, r.High)
	}
	if r.AtLow == nil || !(r.AtLow.OverSLO > 0.3) || !(r.AtHigh.OverSLO < 0.01) {
		t.Errorf("over the SLO %+v at the low and %+v at the high end, want more than 30 %% and less than 1 %%", r.AtLow, r.AtHigh)
	}
	if !(r.AtLow.Cores > 0) {
		t.Errorf("cost %v cores, want above 0", r.AtLow.Cores)
	}
}

func TestAFigureOfARangeIsSetInACopy(t *testing.T) {
	tw := fit(t, busierLater(t), Options{})
	before := string(must(tw.Encode()))
	app, _ := tw.With(*rangeOf(t, tw, Workers), 3)
	if app.Services[0].Workers != 3 {
		t.Errorf("workers %d, want 3", app.Services[0].Workers)
	}
	if rangeOf(t, tw, Workers).AtLow != nil {
		t.Error("an effect without a simulation")
	}
	for _, r := range tw.Ranges {
		for _, v := range []float64{r.Low, r.High} {
			app, _ := tw.With(r, v)
			if err := apps.Validate(app); err != nil {
				t.Errorf("%s %s at %v: %v", r.Figure, r.Service, v, err)
			}
		}
	}
	if string(must(tw.Encode())) != before {
		t.Error("the twin changed")
	}
}

func TestNodesAndNeighboursComeFromTheHistory(t *testing.T) {
	app := builtIn("bookinfo")
	h := must(recording{app: app, load: "diurnal:low=5,high=30,period=2h,peak=40m", engine: "fluid", policy: "hpa:target=80",
		duration: 3 * time.Hour, cluster: pool.Cluster{Neighbours: pool.Neighbours{Use: 0.4, Request: 0.3, Memory: 0.25, Vary: -1}}}.run())
	tw := fit(t, h, Options{})
	want := pool.Neighbours{Use: 0.4, Request: 0.3, Memory: 0.25}
	if got := tw.Cluster.Neighbours; !reflect.DeepEqual(got, want) {
		t.Errorf("neighbours %+v, want %+v", got, want)
	}
	for _, n := range tw.App.Nodes {
		if n.Cores != app.Nodes[0].Cores || n.Memory != app.Nodes[0].Memory {
			t.Errorf("node %+v, want the size of %+v", n, app.Nodes[0])
		}
	}
	c := tw.Report.Cluster
	if c.Nodes == 0 || c.Nodes > len(app.Nodes) || !c.Neighbours {
		t.Errorf("report %+v, want the nodes and the neighbours of the history", c)
	}
	for _, r := range tw.Ranges {
		if r.Figure == Neighbours || r.Figure == NodeSize {
			t.Errorf("%s has a range although it was measured", r.Figure)
		}
	}
	h.Nodes = nil
	tw = fit(t, h, Options{})
	if r := rangeOf(t, tw, Neighbours); r.Low != 0 || r.High < 0.5 {
		t.Errorf("neighbours %v .. %v, want none to many", r.Low, r.High)
	}
	rangeOf(t, tw, NodeSize)
}
