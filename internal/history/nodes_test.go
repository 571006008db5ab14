package history

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestNodesAreKept(t *testing.T) {
	const steps = 2500 // three parts
	h := &History{Start: time.Date(2026, 3, 1, 0, 0, 15, 0, time.UTC), Step: 15 * time.Second, Steps: steps}
	web := Service{Name: "web"}
	web.Series[Rate] = make(Series, steps)
	h.Services = []Service{web}
	for _, name := range []string{"b", "a"} {
		n := Node{Name: name}
		n.Series[NodeCPUAllocatable], n.Series[NodeOthersCPU] = NewSeries(steps), NewSeries(steps)
		for i := steps / 2; i < steps; i++ { // it came later
			n.Series[NodeCPUAllocatable][i], n.Series[NodeOthersCPU][i] = 3.92, float32(i)/steps
		}
		h.Nodes = append(h.Nodes, n)
	}
	h.Tidy()
	h.Manifest.Part = 1000
	dir := filepath.Join(t.TempDir(), "past")
	if err := Write(dir, h); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Nodes) != 2 || got.Nodes[0].Name != "a" {
		t.Fatalf("nodes %v, want a and b", got.Nodes)
	}
	for i := range got.Nodes {
		for m, s := range got.Nodes[i].Series {
			want := h.Nodes[i].Series[m]
			if s.Present() != want.Present() || s != nil && !reflect.DeepEqual(s[steps/2:], want[steps/2:]) {
				t.Errorf("%s %s was not read as it was written", got.Nodes[i].Name, NodeMetric(m))
			}
		}
	}
	part, err := Read(dir, Options{From: h.At(steps/2 - 1)})
	if err != nil || part.Nodes[0].Series[NodeOthersCPU].Present() != steps-steps/2 {
		t.Errorf("a part has %v, %v", part, err)
	}
	if sum := got.Summarise(); len(sum.Nodes) != 2 || sum.Nodes[0].Metrics["cpu_allocatable"].Present != steps/2 {
		t.Errorf("summary %+v", sum.Nodes)
	}
	// A history of a version that kept no nodes is read without them.
	files, err := filepath.Glob(filepath.Join(dir, "nodes-*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	if got, err = Read(dir, Options{}); err != nil || len(got.Nodes) != 0 {
		t.Errorf("%d nodes, %v", len(got.Nodes), err)
	}
}
