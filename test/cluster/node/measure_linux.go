package node

import (
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loadline/loadline/lab/nodestudy"
	"github.com/loadline/loadline/lab/realapp"
)

// measurement is a run under way.
type measurement struct {
	*Deployed
	run   *nodestudy.Run
	start time.Time
	out   nodestudy.Values

	containers map[string][]string
	before     map[string]Counters // at the end of the warm-up
	old        map[string]bool     // pods that were there before the changes

	resizes sync.WaitGroup
	lock    sync.Mutex
	delays  []float64
}

// Measure measures one run once, in a namespace of its own.
func (n *Node) Measure(t testing.TB, run *nodestudy.Run, repeat int) nodestudy.Values {
	t.Helper()
	m := &measurement{Deployed: n.Deploy(t, n.Namespace(t), run.App), run: run, out: nodestudy.Values{}, old: map[string]bool{}}
	for _, pod := range n.Pods(t, m.Namespace, m.first()) {
		m.old[pod.Name] = true
	}
	m.containers = m.Deployed.containers(t)
	sent := m.Send(t, run, run.Length, run.Extra == nodestudy.Starts, run.Seed(repeat))
	m.start = sent.Start
	othersBefore := others(t)
	m.watch(t)
	sleepUntil(t, m.start.Add(run.Length))
	if run.Extra == nodestudy.Starts {
		m.containers = m.Deployed.containers(t)
	}
	after := countersOf(m.containers)
	m.out[nodestudy.Figure{Of: nodestudy.Machine, Name: nodestudy.Others}] =
		(others(t) - othersBefore) / (generatorStart + run.Length).Seconds()
	m.services(after)
	m.extra(t)
	m.requests(sent.Answers(t))
	return m.out
}

func (m *measurement) first() string { return m.App.Services[0].Name }

// watch makes the changes of a run when they are due, and looks for what they do until its end.
func (m *measurement) watch(t testing.TB) {
	t.Helper()
	warm := func() {
		sleepUntil(t, m.start.Add(m.run.WarmUp))
		m.before = countersOf(m.containers)
	}
	quota := m.quotaOf(t, m.first())
	for i, c := range m.run.Changes {
		if m.before == nil && c.At >= m.run.WarmUp {
			warm()
		}
		sleepUntil(t, m.start.Add(c.At))
		began := time.Now()
		if err := m.apply(t, m.App.Services[c.Service].Name, c.Setting); err != nil {
			t.Fatalf("%s/%s: change %d: %v", m.run.Question, m.run.Name, i+1, err)
		}
		if c.Service == 0 && c.Setting.CPULimit.Set {
			m.resizes.Go(func() { m.await(quota, c.Setting.CPULimit.Value, began) })
		}
	}
	if m.before == nil {
		warm()
	}
	m.resizes.Wait()
	switch m.run.Extra {
	case nodestudy.NewPods:
		m.watchShares(t)
	case nodestudy.Starts:
		m.watchStarts(t)
	}
}

// await the quota of a resize in the cgroup. One that is not there at the end of the run is left out.
func (m *measurement) await(quota func() float64, want float64, began time.Time) {
	for time.Now().Before(m.start.Add(m.run.Length)) {
		if math.Abs(quota()-want) < 1e-6 {
			m.lock.Lock()
			defer m.lock.Unlock()
			m.delays = append(m.delays, time.Since(began).Seconds())
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// watchShares counts the requests of old and new pods at the ends of the windows.
func (m *measurement) watchShares(t testing.TB) {
	t.Helper()
	last := m.served(t, m.first())
	for i, window := range nodestudy.ShareWindows {
		sleepUntil(t, m.start.Add(m.run.Changes[0].At+window))
		now := m.served(t, m.first())
		fresh, all := 0.0, 0.0
		for pod, n := range now {
			all += n - last[pod]
			if !m.old[pod] {
				fresh += n - last[pod]
			}
		}
		if all > 0 { // otherwise there is no share
			m.out[nodestudy.Figure{Of: m.first(), Name: nodestudy.ShareFigure(i)}] = fresh / all
		}
		last = now
	}
}

// watchStarts notes when each new pod is ready.
func (m *measurement) watchStarts(t testing.TB) {
	t.Helper()
	changed := m.start.Add(m.run.Changes[0].At)
	took := map[string]float64{}
	for time.Now().Before(m.start.Add(m.run.Length)) {
		for _, pod := range m.node.Pods(t, m.Namespace, m.first()) {
			if _, known := took[pod.Name]; !known && !m.old[pod.Name] && isReady(&pod) {
				took[pod.Name] = time.Since(changed).Seconds()
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
	m.meanAndMax(slices.Collect(maps.Values(took)), nodestudy.ReadyMean, nodestudy.ReadyMax)
}

// meanAndMax of values; without any there is no figure.
func (m *measurement) meanAndMax(values []float64, mean, most string) {
	if len(values) == 0 {
		return
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	m.out[nodestudy.Figure{Of: m.first(), Name: mean}] = sum / float64(len(values))
	m.out[nodestudy.Figure{Of: m.first(), Name: most}] = slices.Max(values)
}

// services has the figures of the kernel's counters.
func (m *measurement) services(after map[string]Counters) {
	if m.run.Extra == nodestudy.Restarts {
		return // counters end with their container
	}
	for i := range m.App.Services {
		s := &m.App.Services[i]
		a, b := after[s.Name], m.before[s.Name]
		m.out[nodestudy.Figure{Of: s.Name, Name: nodestudy.CPUSeconds}] = a.CPUSeconds - b.CPUSeconds
		if s.Size.CPULimit > 0 {
			m.out[nodestudy.Figure{Of: s.Name, Name: nodestudy.Periods}] = a.Periods - b.Periods
			m.out[nodestudy.Figure{Of: s.Name, Name: nodestudy.Throttled}] = a.Throttled - b.Throttled
		}
	}
}

func (m *measurement) extra(t testing.TB) {
	t.Helper()
	switch m.run.Extra {
	case nodestudy.Resizes:
		m.meanAndMax(m.delays, nodestudy.DelayMean, nodestudy.DelayMax)
	case nodestudy.Restarts:
		restarts := 0
		for _, pod := range m.node.Pods(t, m.Namespace, m.first()) {
			for _, c := range pod.Status.ContainerStatuses {
				restarts += int(c.RestartCount)
			}
		}
		m.out[nodestudy.Figure{Of: m.first(), Name: nodestudy.Killed}] = float64(restarts)
	}
}

// requests has the figures of the answers, by kind.
func (m *measurement) requests(answers []realapp.Answer) {
	latencies := make([][]float64, len(m.App.Kinds))
	failed := make([]float64, len(m.App.Kinds))
	for _, a := range answers {
		if a.Failed {
			failed[a.Kind]++
		} else if a.Due >= m.run.WarmUp {
			latencies[a.Kind] = append(latencies[a.Kind], 1e3*a.Latency.Seconds())
		}
	}
	sent := 0
	for i := range m.App.Kinds {
		name := m.App.Kinds[i].Name
		m.out[nodestudy.Figure{Of: name, Name: nodestudy.Failed}] = failed[i]
		sent += len(latencies[i])
		if len(latencies[i]) == 0 {
			continue
		}
		slices.Sort(latencies[i])
		sum := 0.0
		for _, v := range latencies[i] {
			sum += v
		}
		n := float64(len(latencies[i]))
		m.out[nodestudy.Figure{Of: name, Name: nodestudy.MeanMs}] = sum / n
		m.out[nodestudy.Figure{Of: name, Name: nodestudy.P50Ms}] = latencies[i][int(0.5*n)]
		m.out[nodestudy.Figure{Of: name, Name: nodestudy.P99Ms}] = latencies[i][int(0.99*n)]
	}
	m.out[nodestudy.Figure{Of: nodestudy.Generator, Name: nodestudy.Sent}] = float64(sent)
	m.out[nodestudy.Figure{Of: nodestudy.Generator, Name: nodestudy.LateP99Ms}] = 1e3 * realapp.Lateness(answers, 0.99).Seconds()
}
