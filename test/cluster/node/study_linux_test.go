package node

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/loadline/loadline/lab/nodestudy"
	"github.com/loadline/loadline/test/cluster"
)

// attempts of a run whose generator is late.
const attempts = 3

// TestStudy measures the runs of lab/nodestudy that are not yet in the file LOADLINE_STUDY: first each
// run once, then their repeats. It begins none after LOADLINE_STUDY_FOR. LOADLINE_STUDY_RUNS is a
// regular expression of QUESTION/RUN. LOADLINE_STUDY_LATE is how late requests may be sent, in the p99.
func TestStudy(t *testing.T) {
	path := os.Getenv("LOADLINE_STUDY")
	if path == "" {
		t.Skip("it measures for minutes, and needs a machine on which nothing else runs: make study-node")
	}
	end := time.Now().Add(duration(t, "LOADLINE_STUDY_FOR", 25*time.Minute))
	late := duration(t, "LOADLINE_STUDY_LATE", 2*time.Millisecond)
	wanted, err := regexp.Compile(os.Getenv("LOADLINE_STUDY_RUNS"))
	if err != nil {
		t.Fatalf("LOADLINE_STUDY_RUNS: %v", err)
	}
	known := measuredIn(t, path)
	n := Start(t)
	stayAwake(t)
	for repeat := 1; repeat <= 3; repeat++ {
		for _, run := range nodestudy.Runs() {
			name := fmt.Sprintf("%s/%s/%d", run.Question, run.Name, repeat)
			if repeat > run.Repeats || known[name] || !wanted.MatchString(run.Question+"/"+run.Name) {
				continue
			}
			if time.Now().Add(run.Length).After(end) {
				t.Logf("%s is left for another time", name)
				continue
			}
			study(t, n, &run, repeat, path, late)
		}
	}
}

func duration(t *testing.T, variable string, usual time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return d
}

func measuredIn(t *testing.T, path string) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return known
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := nodestudy.ReadMeasurements(strings.NewReader(string(text)))
	if err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
	for _, m := range all {
		known[fmt.Sprintf("%s/%s/%d", m.Question, m.Run, m.Repeat)] = true
	}
	return known
}

// study measures one run and appends it to the file. Attempts in which the generator was late are
// thrown away and counted.
func study(t *testing.T, n *Node, run *nodestudy.Run, repeat int, path string, lateAtMost time.Duration) {
	for thrown := range attempts {
		kept := false
		t.Run(fmt.Sprintf("%s/%s/%d", run.Question, run.Name, repeat), func(t *testing.T) {
			n.WaitEmpty(t)
			values := n.Measure(t, run, repeat)
			late := values[nodestudy.Figure{Of: nodestudy.Generator, Name: nodestudy.LateP99Ms}]
			if late > 1e3*lateAtMost.Seconds() {
				t.Logf("thrown away: requests were sent up to %.1f ms late (p99)", late)
				return
			}
			kept = true
			values[nodestudy.Figure{Of: nodestudy.Generator, Name: nodestudy.ThrownAway}] = float64(thrown)
			var rows []nodestudy.Measurement
			for figure, v := range values {
				rows = append(rows, nodestudy.Measurement{Question: run.Question, Run: run.Name, Repeat: repeat, Figure: figure, Value: v})
			}
			slices.SortFunc(rows, func(a, b nodestudy.Measurement) int {
				return cmp.Or(strings.Compare(a.Of, b.Of), strings.Compare(a.Name, b.Name))
			})
			if err := nodestudy.Append(path, rows); err != nil {
				t.Fatal(err)
			}
			t.Logf("late %.2f ms (p99); others used %.2f cores", late, values[nodestudy.Figure{Of: nodestudy.Machine, Name: nodestudy.Others}])
		})
		if kept || t.Failed() {
			return
		}
	}
}

// WaitEmpty waits until the pods of earlier tests are gone.
func (n *Node) WaitEmpty(t testing.TB) {
	t.Helper()
	cluster.Eventually(t, "earlier pods to go", func() error {
		var pods corev1.PodList
		if err := n.Client(t, cluster.Admin).List(t.Context(), &pods); err != nil {
			return err
		}
		if len(pods.Items) > 0 {
			return fmt.Errorf("%d pods are left", len(pods.Items))
		}
		return nil
	})
}
