package node

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/lab/nodestudy"
	"github.com/loadline/loadline/test/cluster"
)

// A history of real pods has what they did: requests and calls as their servers count them, CPU as
// cAdvisor measures it, replicas and sizes of the objects.
func TestHistoryOfRealPods(t *testing.T) {
	const scrape = 5 * time.Second
	n := Start(t)
	run := &nodestudy.Run{App: nodestudy.GraphApp(), Rates: []float64{8, 2}, Length: 100 * time.Second}
	d := n.Deploy(t, n.Namespace(t), run.App)
	prometheus := d.Prometheus(t, scrape)
	sent := d.Send(t, run, run.Length, false, 1)
	containers := d.containers(t)
	before := countersOf(containers)
	sleepUntil(t, sent.Start.Add(run.Length))
	after := countersOf(containers)
	requests := len(sent.Answers(t))
	past := pull(t, prometheus, d, "90s", "15s")
	edges := 0
	for i := range past.Calls {
		if past.Calls[i].From != "" {
			edges++
		}
	}
	if edges != 5 {
		t.Errorf("%d pairs of services that call each other, want 5: %+v", edges, past.Calls)
	}
	for i := range run.App.Services {
		s := &run.App.Services[i]
		h := past.Service(s.Name)
		if h == nil {
			t.Errorf("the history has no service %s", s.Name)
			continue
		}
		used := after[s.Name].CPUSeconds - before[s.Name].CPUSeconds
		cpu, ready, request := mean(h.Series[history.CPU]), mean(h.Series[history.Ready]), mean(h.Series[history.CPURequest])
		t.Logf("%s: %.1f requests/s, %.3f cores, the cgroup says %.3f", s.Name, mean(h.Series[history.Rate]), cpu,
			used/run.Length.Seconds())
		if !(cpu > 0.5*used/run.Length.Seconds() && cpu < 2*used/run.Length.Seconds()) {
			t.Errorf("%s: %.3f cores by the history, %.3f by the cgroup", s.Name, cpu, used/run.Length.Seconds())
		}
		if ready != 1 || math.Abs(request-s.Size.CPURequest) > 1e-6 {
			t.Errorf("%s: %v replicas that request %v cores, want one of %v", s.Name, ready, request, s.Size.CPURequest)
		}
	}
	rate := mean(past.Service("front").Series[history.Rate])
	if want := float64(requests) / run.Length.Seconds(); math.Abs(rate/want-1) > 0.3 {
		t.Errorf("%.1f requests/s by the history, %.1f were sent", rate, want)
	}
}

// pull the last time of a namespace with the product, and read it.
func pull(t *testing.T, from *cluster.Prometheus, d *Deployed, since, step string) *history.History {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "past")
	command := exec.CommandContext(t.Context(), cluster.Binary(t), "history", "pull", "--prometheus", from.URL, "--namespace", d.Namespace,
		"--since", since, "--step", step, "--scrape", "5s", "-o", dir)
	command.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := command.CombinedOutput()
	t.Logf("loadline history pull:\n%s", out)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Read(dir, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// mean of what is present.
func mean(s history.Series) float64 {
	sum, n := 0.0, 0.0
	for _, v := range s {
		if !math.IsNaN(float64(v)) {
			sum, n = sum+float64(v), n+1
		}
	}
	return sum / n
}
