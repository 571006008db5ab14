package bench

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/sim/pool"
)

// The cluster is in every record and in the heading of the table, and a cluster in which a
// service cannot run is refused before anything runs.
func TestMatrixWithACluster(t *testing.T) {
	m := smallMatrix("static", "hpa")
	m.Workloads, m.Seeds = []Workload{smallLoad("constant:rps=10", 2*time.Minute)}, 1
	bar, _ := pool.Named("bar")
	m.Cluster = pool.Cluster{Pools: []pool.Pool{bar}, Neighbours: pool.Neighbours{Use: 0.2, Request: 0.2}}
	results, err := Run(context.Background(), m, Options{Dir: t.TempDir(), Program: "test", Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := results.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	want := "pool bar; neighbours use=0.2,request=0.2,memory=0"
	if strings.Count(text.String(), want) != 1 || results.Rows[1].Case.Cluster != want {
		t.Errorf("the heading has no %q, or a row has another cluster:\n%s", want, text.String())
	}
	if _, has := results.Rows[0].Measures["bill"]; !has {
		t.Error("the bill is not among the measures")
	}
	m.Cluster.Neighbours.Request = 0.95
	refusal := "a replica of web requests 0.2 cores and 64Mi, and fits no node"
	if _, err := m.Check(""); err == nil || strings.Count(err.Error(), refusal) != 1 {
		t.Errorf("nodes without room: %v", err)
	}
}
