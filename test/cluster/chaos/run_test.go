package chaos

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/test/cluster"
	"github.com/loadline/loadline/test/cluster/binaries"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// TestChaos runs the plans of some seeds, one after the other, and checks their records. SEED and
// CHAOS choose one seed and its length; without them it is what CI runs.
func TestChaos(t *testing.T) {
	seeds, length := []uint64{1, 2, 3}, 3*time.Minute
	if text := os.Getenv("SEED"); text != "" {
		seeds = nil
		for _, each := range strings.Split(text, ",") {
			seed, err := strconv.ParseUint(each, 10, 64)
			if err != nil {
				t.Fatalf("SEED=%s must be whole numbers, comma-separated: %v", text, err)
			}
			seeds = append(seeds, seed)
		}
	}
	if text := os.Getenv("CHAOS"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("CHAOS=%s must be a duration, such as 20m: %v", text, err)
		}
	}
	// The violations once more after everything else: the logs of a failed cluster are long.
	var records []*Record
	var violations []string
	t.Cleanup(func() {
		for _, v := range violations {
			t.Log(v)
		}
	})
	c := cluster.Start(t, cluster.Options{})
	c.InstallLoadline(t)
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			r := testSeed(t, c, seed, length)
			records = append(records, r)
			for _, v := range Check(r) {
				t.Error(v)
				violations = append(violations, fmt.Sprintf("seed %d: %v", seed, v))
			}
		})
	}
	for _, v := range CheckBurn(records...) {
		t.Error(v)
		violations = append(violations, v.String())
	}
}

func testSeed(t *testing.T, c *cluster.Cluster, seed uint64, length time.Duration) *Record {
	plan, err := New(seed, length)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("replay it with: make chaos SEED=%d CHAOS=%v", seed, length)
		}
	})
	w := setUp(t, c, plan)
	w.beginRecord()
	w.run()
	w.recover()
	w.collect()
	path := save(t, w.record)
	summarise(t, w.record)
	t.Logf("the record is %s", path)
	return w.record
}

// save the record in out/chaos.
func save(t *testing.T, r *Record) string {
	t.Helper()
	root, err := binaries.Repository(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "out", "chaos")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fmt.Sprintf("seed-%d.json", r.Seed))
	if err := r.Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// summarise what a run has shown: a run without changes proves nothing.
func summarise(t *testing.T, r *Record) {
	t.Helper()
	stored, refused, reductions, brownouts, leaders, seen := 0, 0, 0, 0, 0, 0
	for i := range r.Changes {
		if r.Changes[i].Manager == Manager {
			seen++
		}
	}
	for i := range r.Writes {
		if r.Writes[i].stored() {
			stored++
		} else {
			refused++
		}
	}
	for i := range r.Decisions {
		if r.Decisions[i].reduces() {
			reductions++
			if r.Decisions[i].Brownout {
				brownouts++
			}
		}
	}
	for i := range r.Holders {
		if r.Holders[i].Process != "" {
			leaders++
		}
	}
	t.Logf("%d faults, %d decisions, %d writes of replicas (%d changes seen), "+
		"%d more refused or unanswered, %d reductions, %d brownouts, %d lives of "+
		"Loadline, %d leaders", len(r.Faults), len(r.Decisions), stored, seen, refused, reductions, brownouts, len(r.Processes), leaders)
	subject, rule := Burn(r)
	t.Logf("over the SLO: %.2f %% (planner), %.2f %% (hpa)", 100*subject, 100*rule)
	if stored == 0 || seen == 0 || reductions == 0 || len(r.Faults) == 0 || math.IsNaN(subject) || math.IsNaN(rule) {
		t.Error("the run has shown nothing: there were no faults, changes, reductions or requests")
	}
}

// TestRecord checks a record again that a run has left: CHAOS_RECORD=out/chaos/seed-7.json.
func TestRecord(t *testing.T) {
	path := os.Getenv("CHAOS_RECORD")
	if path == "" {
		t.Skip("CHAOS_RECORD names no record")
	}
	r, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range append(Check(r), CheckBurn(r)...) {
		t.Error(v)
	}
	summarise(t, r)
}
