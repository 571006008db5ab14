package chaos

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/test/cluster"
)

// Decision logs: 256 MiB for each LoadLine.
const diskOfAnApp = 256 << 20

func (w *world) beginRecord() {
	w.began = time.Now()
	w.record = &Record{Seed: w.plan.Seed, Began: w.began, Settings: Settings{
		MaxAge: maxAge, Window: window, Settle: settle, Interval: interval, Disk: diskOfAnApp * int64(len(w.apps)),
		Subject: w.app("planner").ns, Rule: w.app("rule").ns,
	}}
	for _, a := range w.apps {
		a.player.Follow(scaled{&w.plan, a.share})
	}
}

func (w *world) loadLineOf(a *application) (*v1alpha1.LoadLine, error) {
	var l v1alpha1.LoadLine
	err := w.admin.Get(w.t.Context(), types.NamespacedName{Namespace: a.ns, Name: "shop"}, &l)
	return &l, err
}

// sample notes what the players and the processes show, every two seconds.
func (w *world) sample() {
	now := time.Now()
	if now.Sub(w.sampled) < 2*time.Second {
		return
	}
	w.sampled = now
	for _, a := range w.apps {
		a.player.Look(func(m *sim.Meter) {
			o := Outcome{At: now, App: a.ns}
			for i := range m.Kinds {
				o.Ended += m.Kinds[i].Ended
				o.Over += m.Kinds[i].Over
			}
			w.record.Outcomes = append(w.record.Outcomes, o)
		})
	}
	for _, s := range w.slots {
		if s.down || s.suspended {
			continue
		}
		if u, err := w.usage(s); err == nil {
			w.record.Usage = append(w.record.Usage, u)
		}
	}
}

var impatient = &http.Client{Timeout: time.Second}

// usage of a process by its own metrics, and the passes that it has made.
func (w *world) usage(s *slot) (Usage, error) {
	u := Usage{Process: s.process(), At: time.Now()}
	answer, err := impatient.Get("http://" + s.product.Metrics + "/metrics")
	if err != nil {
		return u, err
	}
	defer answer.Body.Close()
	passes := 0.0
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		v, err := strconv.ParseFloat(value, 64)
		switch {
		case strings.HasPrefix(name, "#") || err != nil:
		case name == "go_memstats_heap_inuse_bytes":
			u.Heap = v
		case name == "go_goroutines":
			u.Goroutines = v
		case strings.HasPrefix(name, "loadline_"):
			u.Series++
			if strings.HasPrefix(name, "loadline_pass_seconds_count{") {
				passes += v
			}
		}
	}
	w.passes[s.process()] = passes
	err = filepath.WalkDir(filepath.Join(s.dir, "decisions"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // segments are compressed and dropped meanwhile
		}
		if info, err := d.Info(); err == nil {
			u.Disk += info.Size()
		}
		return nil
	})
	return u, errors.Join(err, lines.Err())
}

func (w *world) allPasses() float64 {
	sum := 0.0
	for _, n := range w.passes {
		sum += n
	}
	return sum
}

// Passes of all applications after the run, at least and at most, in which it recovers.
const (
	leastPasses = 10
	mostPasses  = 120
)

// recover waits after the last fault until every brownout has ended, or as many passes have been made as
// should be more than enough.
func (w *world) recover() {
	w.t.Helper()
	w.sampled = time.Time{}
	w.sample()
	began := w.allPasses()
	cluster.Eventually(w.t, "Loadline to recover", func() error {
		w.supervise()
		w.sample()
		done := (w.allPasses() - began) / float64(len(w.apps))
		left, err := w.left()
		switch {
		case err != nil:
			return err
		case done < leastPasses:
			return fmt.Errorf("%v of %v passes", done, leastPasses)
		case done >= mostPasses:
			return nil
		}
		w.watch.mu.Lock()
		w.record.Specs = slices.Clone(w.watch.specs)
		w.watch.mu.Unlock()
		w.record.Left, w.record.Ended = left, time.Now()
		if v := append(checkBrownouts(w.record), checkBounds(w.record)...); len(v) > 0 {
			return fmt.Errorf("%v", v[0])
		}
		return nil
	})
	left, err := w.left()
	w.try(err)
	w.record.Left, w.record.Ended = left, time.Now()
}

// left is how the services are now.
func (w *world) left() ([]Left, error) {
	var all []Left
	for _, a := range w.apps {
		l, err := w.loadLineOf(a)
		if err != nil {
			return nil, err
		}
		for i := range a.app.Services {
			var d appsv1.Deployment
			name := a.app.Services[i].Name
			if err := w.admin.Get(w.t.Context(), types.NamespacedName{Namespace: a.ns, Name: name}, &d); err != nil {
				return nil, client.IgnoreNotFound(err)
			}
			out := slices.ContainsFunc(l.Status.BrownedOut, func(b v1alpha1.BrownedOut) bool { return b.Service == name })
			all = append(all, Left{App: a.ns, Service: name, Replicas: int(*d.Spec.Replicas), BrownedOut: out,
				Finalizer: slices.Contains(l.Finalizers, v1alpha1.BrownoutFinalizer)})
		}
	}
	return all, nil
}

// collect stops Loadline and completes the record.
func (w *world) collect() {
	for _, s := range w.slots {
		s.down = true
		s.product.Stop()
		w.bury(s)
	}
	r := w.record
	for _, p := range w.proxies {
		r.Writes = append(r.Writes, p.Writes()...)
	}
	slices.SortFunc(r.Writes, func(a, b Write) int { return a.Received.Compare(b.Received) })
	w.watch.mu.Lock()
	r.Changes, r.Specs, r.Holders = w.watch.changes, w.watch.specs, w.watch.holders
	for _, uid := range w.watch.order {
		r.Pods = append(r.Pods, *w.watch.pods[uid])
	}
	w.watch.mu.Unlock()
	for i := range r.Holders {
		for _, p := range w.proxies {
			if p.Holds(r.Holders[i].Identity) {
				r.Holders[i].Process = p.process
			}
		}
	}
	for _, s := range w.slots {
		w.readDecisions(s)
		w.readLogs(s)
	}
	slices.SortStableFunc(r.Decisions, func(a, b Decision) int { return a.At.Compare(b.At) })
}

// processAt is the life of a slot at an instant.
func (w *world) processAt(s *slot, at time.Time) string {
	name := ""
	for _, p := range w.record.Processes {
		if strings.HasPrefix(p.Name, s.name+"#") && !p.Began.After(at) {
			name = p.Name
		}
	}
	return name
}

// readDecisions of a slot, of all its lives.
func (w *world) readDecisions(s *slot) {
	for _, a := range w.apps {
		log, err := decisionlog.OpenReader(filepath.Join(s.dir, "decisions", a.ns, "shop"))
		if errors.Is(err, decisionlog.ErrEmpty) || errors.Is(err, fs.ErrNotExist) {
			continue // it never decided about it
		}
		if err != nil {
			w.try(err)
			continue
		}
		for i := range log.Segments() {
			w.try(log.Read(i, func(e decisionlog.Entry) error {
				w.addDecision(s, a, e)
				return nil
			}))
		}
		for _, d := range log.Damage {
			if !d.Tail {
				w.t.Errorf("decision log: %v", d)
			}
		}
	}
}

func (w *world) addDecision(s *slot, a *application, e decisionlog.Entry) {
	for i := range e.Record.Services {
		of := &e.Record.Services[i]
		before := of.Before()
		d := Decision{Process: w.processAt(s, e.Record.At), App: a.ns, Service: of.Name, At: e.Record.At, Applied: e.Record.Applied,
			From: running(before), To: running(before), Why: of.Why, Error: e.Record.Error}
		if of.Plan != nil && e.Record.Mode == string(v1alpha1.Act) {
			after := before.With(of.Plan.Setting())
			d.To, d.Brownout = running(after), before.Brownout || after.Brownout
			d.Planned = d.To != d.From || before.Brownout != after.Brownout
		}
		if d.Why == "" && of.Proposal != nil {
			d.Why = of.Proposal.Reason
		}
		if e.App != nil && i < len(e.App.Services) {
			d.Min, d.Max = e.App.Services[i].Bounds.MinReplicas, e.App.Services[i].Bounds.MaxReplicas
		}
		for _, m := range []loadline.ServiceMetric{loadline.ServiceRate, loadline.ServiceCPU} {
			sample := of.Seen.Samples.Of(m)
			d.Visible = d.Visible || sample.Present && sample.Age <= maxAge && !math.IsNaN(sample.Value)
		}
		for j := range of.Seen.Pods {
			sample := of.Seen.Pods[j].Samples.Of(loadline.PodCPU)
			d.Visible = d.Visible || sample.Present && sample.Age <= maxAge
		}
		w.record.Decisions = append(w.record.Decisions, d)
	}
}

// running is the replicas that an allocation runs.
func running(a loadline.Allocation) int {
	if a.Brownout {
		return 0
	}
	return a.Replicas
}

// readLogs of the lives of a slot: the changes in them.
func (w *world) readLogs(s *slot) {
	files, err := filepath.Glob(filepath.Join(s.dir, "loadline-*.log"))
	w.try(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		w.try(err)
		for line := range strings.Lines(string(text)) {
			if l, at, is := parseLogged(line); is {
				l.Process = w.processAt(s, at)
				w.record.Logged = append(w.record.Logged, l)
			}
		}
	}
}
