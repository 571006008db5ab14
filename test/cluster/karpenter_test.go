package cluster

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/loadline/loadline"
)

// poolScene is a sequence of desired replicas, for Karpenter and for the simulated pool.
type poolScene struct {
	name     string
	types    []InstanceType
	services []loadline.Size
	steps    [][]int // desired replicas by step and service

	// budget is the share of the nodes that may be disrupted at once.
	budget float64
	// keepLast keeps the last ready pod of each service where it is.
	keepLast bool
	// spread prefers nodes without pods of the same service.
	spread bool
}

const (
	batchIdle        = 3 * time.Second  // long enough for the pods of one step, also on a busy machine
	nodeStart        = 10 * time.Second // from the decision to a node that registers
	consolidateAfter = 30 * time.Second
)

func size(cores float64, gib int64) loadline.Size {
	return loadline.Size{CPURequest: cores, MemoryRequest: gib << 30}
}

func poolScenes() []poolScene {
	four := []InstanceType{{"four", 4, 16 << 30, 0.20}}
	three := []InstanceType{{"two", 2, 8 << 30, 0.11}, {"four", 4, 16 << 30, 0.20}, {"eight", 8, 32 << 30, 0.38}}
	one := func(replicas ...int) (steps [][]int) {
		for _, n := range replicas {
			steps = append(steps, []int{n})
		}
		return steps
	}
	return []poolScene{
		{name: "wave", types: four, services: []loadline.Size{size(0.5, 1)}, budget: 0.1, steps: one(4, 14, 35, 49, 28, 10, 0)},
		{name: "bursts", types: four, services: []loadline.Size{size(1, 2)}, budget: 0.5, steps: one(3, 30, 6, 24, 3, 0)},
		{
			name: "mixed sizes", types: four, budget: 0.2,
			services: []loadline.Size{size(0.25, 1), size(0.5, 1), size(1, 2), size(3, 4)},
			steps:    [][]int{{4, 3, 2, 1}, {12, 8, 5, 3}, {20, 10, 8, 4}, {10, 10, 3, 2}, {4, 2, 2, 1}, {0, 0, 0, 0}},
		},
		{
			name: "memory-heavy", types: four, budget: 0.2, services: []loadline.Size{size(0.25, 5), size(1, 1)},
			steps: [][]int{{3, 2}, {14, 4}, {20, 8}, {7, 8}, {2, 1}, {0, 0}},
		},
		{
			name: "three types", types: three, budget: 0.2, services: []loadline.Size{size(0.5, 1), size(1.5, 3)},
			steps: [][]int{{2, 1}, {9, 2}, {30, 6}, {12, 6}, {3, 1}, {0, 0}},
		},
		{
			name: "spread", types: four, budget: 0.2, spread: true, services: []loadline.Size{size(0.5, 1), size(0.25, 1)},
			steps: [][]int{{4, 4}, {8, 4}, {3, 6}, {1, 1}, {0, 0}},
		},
		{
			name: "disruption budgets", types: four, budget: 0.2, keepLast: true,
			services: []loadline.Size{size(0.5, 1), size(1, 1), size(2, 2)},
			steps:    [][]int{{6, 3, 1}, {20, 6, 1}, {8, 3, 1}, {2, 1, 1}, {1, 1, 1}, {0, 0, 0}},
		},
	}
}

// karpenterTraces has what Karpenter did, by scene. `go test -run Karpenter -update` renews
// it, together with LOADLINE_NIGHTLY=1.
const karpenterTraces = "testdata/karpenter.json"

var update = flag.Bool("update", false, "write the traces of Karpenter to "+karpenterTraces)

// The same sequence of pods gives the simulated pool and Karpenter the same time-mean of nodes
// within a tenth or one node. The steps of the simulation are at the times at which Karpenter's
// were, so that nothing depends on the speed of the machine.
func TestThePoolBuysAsManyNodesAsKarpenter(t *testing.T) {
	if os.Getenv("LOADLINE_NIGHTLY") == "" {
		t.Skip("takes about twenty minutes: run `make test-karpenter`")
	}
	var mu sync.Mutex
	traces := map[string]*poolTrace{}
	t.Cleanup(func() {
		if *update && !t.Skipped() {
			writeTraces(t, traces)
		}
	})
	for _, scene := range poolScenes() {
		t.Run(scene.name, func(t *testing.T) {
			t.Parallel()
			trace := runKarpenter(t, scene)
			mu.Lock()
			traces[scene.name] = trace
			mu.Unlock()
			agree(t, scene, trace)
		})
	}
}

// The same without Karpenter, with what it did before.
func TestThePoolFollowsTheTracesOfKarpenter(t *testing.T) {
	traces := readTraces(t)
	for _, scene := range poolScenes() {
		t.Run(scene.name, func(t *testing.T) {
			trace := traces[scene.name]
			if trace == nil || len(trace.Steps) != len(scene.steps) {
				t.Fatalf("%s has no trace of this scene: run `make test-karpenter` with -update", karpenterTraces)
			}
			agree(t, scene, trace)
		})
	}
}

func readTraces(t *testing.T) (traces map[string]*poolTrace) {
	t.Helper()
	text, err := os.ReadFile(karpenterTraces)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &traces); err != nil {
		t.Fatalf("%s: %v", karpenterTraces, err)
	}
	return traces
}

// writeTraces renews the traces of scenes that ran.
func writeTraces(t *testing.T, ran map[string]*poolTrace) {
	t.Helper()
	traces := readTraces(t)
	maps.Copy(traces, ran)
	text, err := json.MarshalIndent(traces, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(karpenterTraces, append(text, '\n'), 0o666); err != nil {
		t.Fatal(err)
	}
}

// agree compares the simulated pool with what Karpenter did.
func agree(t *testing.T, scene poolScene, theirs *poolTrace) {
	t.Helper()
	ours := simulatePool(scene, theirs)
	t.Logf("\n%s", comparison(scene, theirs, ours))
	if a, b := ours.mean(), theirs.mean(); !sameNodes(a, b) {
		t.Errorf("%.2f nodes in the mean over time, Karpenter has %.2f", a, b)
	}
	if a, b := ours.settledMean(), theirs.settledMean(); !sameNodes(a, b) {
		t.Errorf("%.2f nodes in the mean over the ends of the steps, Karpenter has %.2f", a, b)
	}
}

// sameNodes is within a tenth or one node.
func sameNodes(ours, theirs float64) bool { return math.Abs(ours-theirs) <= max(1, 0.1*theirs) }

// poolTrace is what a sequence led to.
type poolTrace struct {
	Steps       []poolStep
	Seconds     float64 // its length
	NodeSeconds float64
	Cost        float64
	Bought      int // nodes
}

// poolStep is a step of a sequence.
type poolStep struct {
	At     float64 // its beginning, in seconds
	Most   int     // nodes during the step
	Nodes  int     // at its end
	Hourly float64 // price of these nodes
}

// end of a step, in seconds.
func (p *poolTrace) end(step int) float64 {
	if step+1 < len(p.Steps) {
		return p.Steps[step+1].At
	}
	return p.Seconds
}

func (p *poolTrace) mean() float64 { return p.NodeSeconds / p.Seconds }

func (p *poolTrace) settledMean() (mean float64) {
	for _, s := range p.Steps {
		mean += float64(s.Nodes) / float64(len(p.Steps))
	}
	return mean
}

// comparison is a table of a sequence.
func comparison(scene poolScene, theirs, ours *poolTrace) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 1, ' ', 0)
	fmt.Fprintf(w, "| %s: replicas\t| seconds\t| Karpenter: most\t| at the end\t| per hour\t| pool: most\t| at the end\t| per hour\t|\n",
		scene.name)
	fmt.Fprintf(w, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|\n")
	for i, k := range theirs.Steps {
		p := ours.Steps[i]
		fmt.Fprintf(w, "| %s\t| %.0f\t| %d\t| %d\t| %.2f\t| %d\t| %d\t| %.2f\t|\n", strings.Trim(fmt.Sprint(scene.steps[i]), "[]"),
			theirs.end(i)-k.At, k.Most, k.Nodes, k.Hourly, p.Most, p.Nodes, p.Hourly)
	}
	fmt.Fprintf(w, "| mean over time\t| %.0f\t| \t| %.2f\t| %.3f\t| \t| %.2f\t| %.3f\t|\n", theirs.Seconds,
		theirs.mean(), theirs.Cost/theirs.Seconds*3600, ours.mean(), ours.Cost/ours.Seconds*3600)
	fmt.Fprintf(w, "| nodes bought\t| \t| \t| %d\t| \t| \t| %d\t| \t|\n", theirs.Bought, ours.Bought)
	w.Flush()
	return text.String()
}
