package chaos

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/test/cluster"
)

// happening is a fault in force.
type happening struct {
	Fault
	entry int // in the record
	end   time.Time
}

// subjectOf a kind.
func subjectOf(k Kind) string {
	for i := range traits {
		if traits[i].kind == k {
			return traits[i].subject
		}
	}
	return ""
}

// run the plan. A fault that begins late, on a busy machine, lasts as long as planned; the next
// one of its subject waits for it.
func (w *world) run() {
	pending, active := w.plan.Faults, map[string]*happening{}
	for len(pending) > 0 || len(active) > 0 || time.Since(w.began) < w.plan.Length {
		now := time.Now()
		for subject, h := range active {
			if now.After(h.end) {
				w.record.Faults[h.entry].End = time.Now()
				w.undo(h.Fault)
				delete(active, subject)
			}
		}
		for len(pending) > 0 && now.Sub(w.began) >= pending[0].At {
			f := pending[0]
			subject := subjectOf(f.Kind)
			if active[subject] != nil {
				break // the order stays, so that the plan is the same on every machine
			}
			pending = pending[1:]
			if entry, done := w.inject(f); done {
				w.record.Faults = append(w.record.Faults, entry)
				active[subject] = &happening{f, len(w.record.Faults) - 1, time.Now().Add(f.For)}
			}
		}
		w.supervise()
		w.sample()
		time.Sleep(100 * time.Millisecond)
	}
}

// inject begins a fault, and returns what happened; false if it cannot be done here.
func (w *world) inject(f Fault) (Happened, bool) {
	h := Happened{Kind: f.Kind, Arg: f.Arg}
	w.t.Logf("%7.1f s: %s (%d), for %v", time.Since(w.began).Seconds(), f.Kind, f.Arg, f.For)
	switch f.Kind {
	case KillLoadline, StopLoadline, PauseLoadline:
		s := w.slots[f.Arg]
		h.Process = s.process()
		w.breakLoadline(f.Kind, s)
	case KillPrometheus:
		w.prom.Kill()
	case PausePrometheus:
		w.prom.Pause()
	case KillAPIServer:
		w.c.KillAPIServer(w.t)
	case PauseAPIServer:
		w.c.PauseAPIServer()
	case KillKEDA:
		w.c.KEDAOperator().Kill()
	case PauseKEDA:
		w.c.KEDAOperator().Suspend()
	case KillNATS:
		w.nats.Kill()
	case PauseNATS:
		w.nats.Suspend()
	case HalfOfExporters:
		h.Pods = w.hideHalf()
	case RefuseStatus, DelayAPI, CutAPI:
		w.setProxies(map[Kind]proxyFault{
			RefuseStatus: {refuse: []int{409, 429, 500}[f.Arg]}, DelayAPI: {delay: 1500 * time.Millisecond}, CutAPI: {lose: true},
		}[f.Kind])
	case EditSpec:
		w.edit(edits[f.Arg].old, edits[f.Arg].new)
	case DeleteNamespace:
		w.deleteNamespace()
	case LoseNode:
		w.try(w.c.LoseNode(w.t.Context(), fmt.Sprintf("node-%d", f.Arg)))
	case FillDisk:
		s := w.slots[f.Arg]
		if !s.ownDisk {
			return h, false
		}
		h.Process = s.name
		w.try(fillDisk(filepath.Join(s.dir, "decisions")))
	default:
		w.setExporters(f)
	}
	h.Begin = time.Now()
	return h, true
}

// undo ends a fault.
func (w *world) undo(f Fault) {
	switch f.Kind {
	case KillLoadline, StopLoadline:
		if s := w.slots[f.Arg]; s.down {
			w.start(s, w.namespaces(), true)
		}
	case PauseLoadline:
		s := w.slots[f.Arg]
		s.suspended = false
		s.product.Resume()
	case KillPrometheus:
		w.prom.Start(w.t)
	case PausePrometheus:
		w.prom.Resume()
	case KillAPIServer:
		w.c.StartAPIServer(w.t)
	case PauseAPIServer:
		w.c.ResumeAPIServer()
	case KillKEDA:
		w.c.KEDAOperator().Start(w.t)
	case PauseKEDA:
		w.c.KEDAOperator().Resume()
	case KillNATS:
		w.nats.Start(w.t)
	case PauseNATS:
		w.nats.Resume()
	case HalfOfExporters:
		for _, a := range w.apps {
			a.player.HidePods()
		}
	case RefuseStatus, DelayAPI, CutAPI:
		w.setProxies(proxyFault{})
	case EditSpec:
		w.edit()
	case DeleteNamespace:
		w.createNamespace()
	case LoseNode:
		w.try(w.c.ReturnNode(w.t.Context(), fmt.Sprintf("node-%d", f.Arg)))
	case FillDisk:
		w.try(emptyDisk(filepath.Join(w.slots[f.Arg].dir, "decisions")))
	default:
		w.setExporters(Fault{})
	}
}

// try notes a failure of the harness, which is none of Loadline.
func (w *world) try(err error) {
	if err != nil {
		w.t.Errorf("the harness: %v", err)
	}
}

func (w *world) namespaces() []string {
	var names []string
	for _, a := range w.apps {
		names = append(names, a.ns)
	}
	return names
}

func (w *world) breakLoadline(k Kind, s *slot) {
	switch k {
	case KillLoadline:
		s.down, s.killed = true, true
		s.product.Kill()
		w.bury(s)
	case StopLoadline:
		s.down = true
		s.product.Stop()
		w.bury(s)
	case PauseLoadline:
		s.suspended = true
		s.product.Suspend()
	}
}

// bury notes the end of a life.
func (w *world) bury(s *slot) {
	if w.record != nil {
		w.record.Processes = append(w.record.Processes, Process{Name: s.process(), Began: s.began, Ended: time.Now(), Killed: s.killed})
	}
}

// supervise starts processes again that have ended by themselves: one that has lost its lease
// does.
func (w *world) supervise() {
	for _, s := range w.slots {
		if !s.down && s.product.Ended() {
			w.t.Logf("%7.1f s: %s has ended", time.Since(w.began).Seconds(), s.process())
			w.bury(s)
			w.start(s, w.namespaces(), true)
		}
	}
}

func (w *world) setProxies(f proxyFault) {
	w.fault = f
	for _, s := range w.slots {
		s.proxy.Set(f)
	}
}

// setExporters of all applications; no fault: all are well.
func (w *world) setExporters(f Fault) {
	jobs := []string{cluster.JobMesh, cluster.JobCAdvisor, cluster.JobKubeState}
	fault := map[Kind]cluster.Fault{
		ExportersDown: cluster.Down, ExportersEmpty: cluster.Empty, ExportersNaN: cluster.NotANumber, ZeroExporters: cluster.Zero,
		ClocksBehind: cluster.Behind, ClocksAhead: cluster.Ahead,
	}[f.Kind]
	if f.Kind == ZeroExporters {
		jobs = jobs[f.Arg : f.Arg+1]
	}
	for _, a := range w.apps {
		for _, j := range jobs {
			a.player.SetFault(j, fault)
		}
	}
}

// hideHalf hides every other ready pod of each application.
func (w *world) hideHalf() []string {
	var hidden []string
	byApp := map[string][]string{}
	for i, name := range w.watch.serving() {
		if i%2 == 0 {
			hidden = append(hidden, name)
			ns, pod := filepath.Split(name)
			byApp[filepath.Clean(ns)] = append(byApp[filepath.Clean(ns)], pod)
		}
	}
	for _, a := range w.apps {
		a.player.HidePods(byApp[a.ns]...)
	}
	return hidden
}

// edit the LoadLines that are compared; without words they are as at the start.
func (w *world) edit(words ...string) {
	for _, role := range []string{"planner", "rule"} {
		a := w.app(role)
		w.c.ApplyYAML(w.t, a.ns, a.loadLine(w.prom.URL, words...))
	}
}

func (w *world) deleteNamespace() {
	w.try(w.admin.Delete(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.app("deleted").ns}}))
}

// createNamespace makes the namespace again, with all that it had.
func (w *world) createNamespace() {
	a := w.app("deleted")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.ns}}
	cluster.Eventually(w.t, "the namespace to be gone and created again", func() error {
		w.sample()
		if err := w.admin.Create(w.t.Context(), ns.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		var now corev1.Namespace
		if err := w.admin.Get(w.t.Context(), client.ObjectKeyFromObject(ns), &now); err != nil {
			return err
		}
		if now.DeletionTimestamp != nil {
			return errors.New("it is still being deleted")
		}
		return w.admin.Get(w.t.Context(), types.NamespacedName{Namespace: a.ns, Name: "default"}, &corev1.ServiceAccount{})
	})
	for i := range a.app.Services {
		w.try(w.admin.Create(w.t.Context(), cluster.Deployment(a.ns, &a.app.Services[i])))
	}
	w.c.ApplyYAML(w.t, a.ns, a.loadLine(w.prom.URL))
}
