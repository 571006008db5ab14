package node

import (
	"testing"
	"time"

	"github.com/loadline/loadline/lab/nodestudy"
)

// Services of a call graph reach each other by their names, and no request of users is lost.
func TestServicesCallEachOther(t *testing.T) {
	n := Start(t)
	run := &nodestudy.Run{
		Question: "graph", Name: "short", App: nodestudy.GraphApp(), Rates: []float64{8, 2},
		WarmUp: time.Second, Length: 6 * time.Second,
	}
	values := n.Measure(t, run, 1)
	for i := range run.App.Kinds {
		if name := run.App.Kinds[i].Name; values[nodestudy.Figure{Of: name, Name: nodestudy.Failed}] != 0 {
			t.Errorf("requests %s failed: %v", name, values)
		}
	}
	for i := range run.App.Services {
		name := run.App.Services[i].Name
		used := values[nodestudy.Figure{Of: name, Name: nodestudy.CPUSeconds}]
		t.Logf("%s used %.3f CPU-s", name, used)
		if used <= 0 {
			t.Errorf("%s has done no work", name)
		}
	}
}
