package cli

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/console"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/outlook"
	"github.com/loadline/loadline/internal/portfolio"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

// hostileName is markup that would run if it were not shown as text.
const hostileName = `<img src=x onerror=alert(1)>`

// stageApp is one application of the stage: a LoadLine whose decisions are made in a simulated cluster.
type stageApp struct {
	namespace, name string
	app             *loadline.App
	policy, load    string
	engine          string
	mode            v1alpha1.Mode
	peak            float64
	from            time.Duration // where in the load it begins

	run    *simulate.Session
	record *portfolio.LoadRecord
	rung   string
	why    string
	log    *decisionlog.Log
}

// stage is a console over simulated clusters: its API server has the LoadLines, whose status is
// written from each decision as the controller does, and two users.
type stage struct {
	t       *testing.T
	server  *console.Server
	address string
	models  string

	mu       sync.Mutex
	now      time.Time
	lines    map[client.ObjectKey]*v1alpha1.LoadLine
	configs  map[client.ObjectKey]*corev1.ConfigMap
	handlers []toolscache.ResourceEventHandler
	apps     []*stageApp
}

// Users of the stage: alice reads everything, bob one namespace.
const aliceToken, bobToken, bobNamespace = "token-of-alice", "token-of-bob", "media"

// newStage starts a console over applications that have run for a while. The console ends with the test.
func newStage(t *testing.T, warm time.Duration, list ...*stageApp) *stage {
	t.Helper()
	s := &stage{t: t, models: t.TempDir(), now: sim.Epoch, apps: list, lines: map[client.ObjectKey]*v1alpha1.LoadLine{},
		configs: map[client.ObjectKey]*corev1.ConfigMap{}}
	elected := make(chan struct{})
	close(elected)
	decisions := t.TempDir()
	var err error
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = listener.Addr().String()
	s.server, err = console.New(console.Options{Address: s.address, Client: stageClient{stage: s}, Cache: stageCache{stage: s},
		Elected:   elected,
		Decisions: decisions, Models: s.models, Log: slog.New(slog.DiscardHandler), Now: s.clock})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		s.open(a, filepath.Join(decisions, a.namespace, a.name))
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		for _, a := range list {
			a.run.Close()
			if err := a.log.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	s.advance(warm)
	return s
}

func (s *stage) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// advance all clusters.
func (s *stage) advance(by time.Duration) {
	to := s.clock().Add(by)
	for _, a := range s.apps {
		if err := a.run.AdvanceTo(context.Background(), sim.Since(to)); err != nil {
			s.t.Error(err)
		}
	}
	s.mu.Lock()
	s.now = to
	s.mu.Unlock()
}

// open the cluster of an application.
func (s *stage) open(a *stageApp, dir string) {
	t := s.t
	rates, _, err := workload.Open(a.load, workload.Options{Peak: a.peak, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	var load sim.Arrivals
	load, err = rates.For(a.app)
	if err != nil {
		t.Fatal(err)
	}
	load = sim.From(load, a.from)
	first := make([]float64, len(a.app.Kinds))
	for k := range first {
		first[k], _ = load.Rate(k, 0)
	}
	a.app = apps.SizedFor(a.app, first, 0.5)
	nodes, _ := pool.Named("eks-4")
	spec := simulate.Spec{
		App: a.app, Load: load, Workload: a.load, Policy: a.policy, Guard: "hpa", Engine: a.engine, Duration: 12 * time.Hour, Seed: 7,
		Cluster: pool.Cluster{Pools: []pool.Pool{nodes}, Neighbours: pool.Neighbours{Use: 0.1, Request: 0.2}},
	}
	if a.log, err = decisionlog.Open(dir, decisionlog.Options{Sync: -1}); err != nil {
		t.Fatal(err)
	}
	a.rung, a.record = guard.Primary.String(), portfolio.NewLoadRecord(len(a.app.Kinds))
	key := client.ObjectKey{Namespace: a.namespace, Name: a.name}
	twin := &outlook.Twin{App: a.app}
	recorder := &decisionlog.Recorder{App: a.app, Mode: string(a.mode), Rung: func() string { return a.rung },
		Fault: func(err error) { t.Error(err) },
		Log: appender(func(app *loadline.App, r *decisionlog.Record) error {
			if err := a.log.Append(app, r); err != nil {
				return err
			}
			s.decided(key, a, r)
			s.server.Record(a.namespace, a.name, app, r)
			return nil
		})}
	spec.Hooks = simulate.Hooks{
		Decided: func(d *loadline.Decision, situation loadline.Situation) {
			a.record.Observe(situation.Now())
			twin.Foresee(d, situation)
			recorder.Decided(d, situation)
		},
		Decision: recorder.Done,
		Rung:     func(step guard.Transition) { a.rung, a.why = step.To.String(), step.Why },
	}
	l := &v1alpha1.LoadLine{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: a.name}}
	l.Spec.Mode, l.Spec.Policy.Baseline = a.mode, v1alpha1.Baseline(a.policy)
	for i := range a.app.Kinds {
		k := &a.app.Kinds[i]
		l.Spec.Objectives = append(l.Spec.Objectives, v1alpha1.Objective{Kind: k.Name, Latency: v1alpha1.Duration{Duration: k.SLO.Latency}})
	}
	s.lines[key] = l
	if a.run, err = simulate.Open(spec); err != nil {
		t.Fatal(err)
	}
}

type appender func(*loadline.App, *decisionlog.Record) error

func (f appender) Append(app *loadline.App, r *decisionlog.Record) error { return f(app, r) }

// edit a LoadLine, and tell those who follow them.
func (s *stage) edit(key client.ObjectKey, change func(*v1alpha1.LoadLine)) {
	s.mu.Lock()
	l := s.lines[key].DeepCopy()
	change(l)
	s.lines[key] = l
	handlers := slices.Clone(s.handlers)
	s.mu.Unlock()
	for _, h := range handlers {
		h.OnUpdate(l, l)
	}
}

// decided writes the status of a LoadLine from a record.
func (s *stage) decided(key client.ObjectKey, a *stageApp, r *decisionlog.Record) {
	s.edit(key, func(l *v1alpha1.LoadLine) {
		st := &l.Status
		at := metav1.NewTime(r.At)
		st.Mode, st.Policy, st.LastDecisionTime = a.mode, a.policy, &at
		rung := v1alpha1.Rung(strings.ToUpper(a.rung[:1]) + a.rung[1:])
		if st.Ladder == nil || st.Ladder.Rung != rung {
			st.Ladder = &v1alpha1.LadderStatus{Rung: rung, Since: at, Why: a.why}
			status := metav1.ConditionFalse
			if rung != v1alpha1.RungPrimary {
				status = metav1.ConditionTrue
			}
			st.Conditions = []metav1.Condition{
				{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Running", LastTransitionTime: at},
				{Type: v1alpha1.ConditionFallback, Status: status, Reason: "Rung" + string(rung), Message: a.why, LastTransitionTime: at}}
		}
		st.Objectives, st.SLOMet = nil, "Unknown"
		for i := range r.Kinds {
			o := objectiveOf(&r.Kinds[i], a.app.Kinds[i].SLO.Latency)
			if o.Met != nil && st.SLOMet != "False" {
				st.SLOMet = map[bool]string{true: "True", false: "False"}[*o.Met]
			}
			st.Objectives = append(st.Objectives, o)
		}
		st.ServicesMoved = fmt.Sprintf("%d/%d", len(a.app.Services), len(a.app.Services))
		before := st.Services
		st.Services = nil
		for i := range r.Services {
			status := serviceStatusOf(&r.Services[i], a.mode)
			if i < len(before) {
				status.LastChangeTime = before[i].LastChangeTime
			}
			if r.Services[i].Plan != nil {
				status.LastChangeTime = &at
			}
			st.Services = append(st.Services, status)
		}
	})
}

func measured(s decisionlog.Sample) v1alpha1.Measured {
	if !s.Present || math.IsNaN(float64(s.Value)) {
		return ""
	}
	return v1alpha1.Measured(strconv.FormatFloat(float64(s.Value), 'g', 5, 64))
}

func objectiveOf(k *decisionlog.Kind, target time.Duration) v1alpha1.ObjectiveStatus {
	o := v1alpha1.ObjectiveStatus{Kind: k.Name, Rate: measured(k.Samples.Of(loadline.KindRate))}
	if at := k.Samples.Of(loadline.KindAtSLO); at.Present {
		ratio := float64(at.Value) / target.Seconds()
		o.Latency = &v1alpha1.Duration{Duration: time.Duration(float64(at.Value) * float64(time.Second))}
		o.OverSLO, o.Met = v1alpha1.Measured(strconv.FormatFloat(ratio, 'g', 4, 64)), pointer(ratio <= 1)
	}
	return o
}

func serviceStatusOf(r *decisionlog.Service, mode v1alpha1.Mode) v1alpha1.ServiceStatus {
	ready := int32(0)
	for i := range r.Seen.Pods {
		if r.Seen.Pods[i].Phase == loadline.PodReady.String() {
			ready++
		}
	}
	s := v1alpha1.ServiceStatus{Name: r.Name, State: v1alpha1.ServiceMoved, Why: r.Why,
		Seen: &v1alpha1.Seen{Rate: measured(r.Seen.Samples.Of(loadline.ServiceRate)), ReadyReplicas: &ready}}
	if mode != v1alpha1.Act {
		s.State = v1alpha1.ServiceRecommended
	}
	if cpu := r.Seen.Samples.Of(loadline.ServiceCPU); cpu.Present {
		s.Seen.CPU = apiresource.NewMilliQuantity(int64(1000*float64(cpu.Value)), apiresource.DecimalSI)
	}
	before := r.Before()
	wanted, applied := int32(before.Replicas), int32(before.Replicas)
	if r.Proposal != nil {
		wanted = int32(before.With(r.Proposal.Setting.Setting()).Replicas)
		s.Why = r.Proposal.Reason
	}
	if r.Plan != nil {
		applied = int32(before.With(r.Plan.Setting()).Replicas)
	}
	s.Wanted, s.Applied = &v1alpha1.Amounts{Replicas: &wanted}, &v1alpha1.Amounts{Replicas: &applied}
	return s
}

// stageClient is the API server, as far as the console asks it.
type stageClient struct {
	client.Client
	stage *stage
}

// Get a LoadLine or a ConfigMap.
func (c stageClient) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	c.stage.mu.Lock()
	defer c.stage.mu.Unlock()
	switch o := into.(type) {
	case *v1alpha1.LoadLine:
		if l := c.stage.lines[key]; l != nil {
			l.DeepCopyInto(o)
			return nil
		}
	case *corev1.ConfigMap:
		if m := c.stage.configs[key]; m != nil {
			m.DeepCopyInto(o)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", into)}, key.Name)
}

// List the LoadLines.
func (c stageClient) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var of client.ListOptions
	of.ApplyOptions(options)
	c.stage.mu.Lock()
	defer c.stage.mu.Unlock()
	list := into.(*v1alpha1.LoadLineList)
	for key, l := range c.stage.lines {
		if of.Namespace == "" || of.Namespace == key.Namespace {
			list.Items = append(list.Items, *l.DeepCopy())
		}
	}
	return nil
}

// Create answers reviews.
func (c stageClient) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	switch review := o.(type) {
	case *authenticationv1.TokenReview:
		name, known := map[string]string{aliceToken: "alice", bobToken: "bob"}[review.Spec.Token]
		review.Status.Authenticated, review.Status.User.Username = known, name
	case *authorizationv1.SubjectAccessReview:
		a := review.Spec.ResourceAttributes
		review.Status.Allowed = review.Spec.User == "alice" || review.Spec.User == "bob" && a.Namespace == bobNamespace
	default:
		return fmt.Errorf("%T is not created by the console", o)
	}
	return nil
}

// stageCache says when LoadLines change.
type stageCache struct {
	ctrlcache.Cache
	stage *stage
}

// GetInformer of LoadLines.
func (c stageCache) GetInformer(context.Context, client.Object, ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error) {
	return stageInformer{stage: c.stage}, nil
}

type stageInformer struct {
	ctrlcache.Informer
	stage *stage
}

// AddEventHandler for all that happens from now on.
func (i stageInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.stage.mu.Lock()
	defer i.stage.mu.Unlock()
	i.stage.handlers = append(i.stage.handlers, h)
	return nil, nil
}

// RemoveEventHandler at the end of the server.
func (i stageInformer) RemoveEventHandler(toolscache.ResourceEventHandlerRegistration) error {
	return nil
}

func mustApp(t *testing.T, name string) *loadline.App {
	t.Helper()
	m, err := apps.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return m.App
}

// addModels gives each application that has run for an hour an estimate beside a plain rule, and one of
// them a registry with what was promoted.
func (s *stage) addModels(key client.ObjectKey, registry string) {
	if err := os.CopyFS(s.models, os.DirFS(registry)); err != nil {
		s.t.Fatal(err)
	}
	for _, a := range s.apps {
		own := client.ObjectKey{Namespace: a.namespace, Name: a.name}
		p := a.estimate(s.t)
		s.edit(own, func(l *v1alpha1.LoadLine) {
			l.Status.Portfolio = p
			l.Annotations = map[string]string{v1alpha1.PreviousAnnotation: `{"policy":{"baseline":"hpa:target=80"},"mode":"Recommend"}`}
			if own == key {
				l.Spec.Policy = v1alpha1.Policy{Model: &v1alpha1.Model{Folder: ".", Application: "bookinfo"}}
			}
		})
	}
}

// estimate what runs, and HPA beside it, under the load of the last hour.
func (a *stageApp) estimate(t *testing.T) *v1alpha1.PortfolioStatus {
	t.Helper()
	q := portfolio.Question{App: a.app, Load: a.record.Last(time.Hour), Guard: guard.Defaults(), Axes: []string{"Horizontal"},
		Interval: 15 * time.Second, Prices: pool.Prices{}.WithDefaults()}
	ask := func(label, policy, fallback string) v1alpha1.DeploymentEstimate {
		e, err := q.Ask(t.Context(), portfolio.Candidate{Deployment: portfolio.Deployment{Label: label, Policy: policy, Fallback: fallback}})
		if err != nil {
			t.Fatal(err)
		}
		text := func(v float64) v1alpha1.Measured { return v1alpha1.Measured(strconv.FormatFloat(v, 'g', 5, 64)) }
		return v1alpha1.DeploymentEstimate{Name: label, Policy: policy, PerMonth: text(e.PerMonth), OverSLO: text(e.Over)}
	}
	p := &v1alpha1.PortfolioStatus{Basis: "estimated on the twin", Currency: q.Prices.Currency, Current: ask(a.policy, a.policy, "hpa")}
	if a.policy != ruleBeside {
		p.Others = []v1alpha1.DeploymentEstimate{ask(ruleBeside, ruleBeside, "")}
	}
	return p
}

// ruleBeside is what the applications of the stage are compared with.
const ruleBeside = "hpa:target=80"

func keyOfStage(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// twin gives a LoadLine a twin's ConfigMap, and a policy without a model.
func (s *stage) twin(key client.ObjectKey, data map[string]string) {
	s.mu.Lock()
	name := client.ObjectKey{Namespace: key.Namespace, Name: "twin"}
	s.configs[name] = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}, Data: data}
	s.mu.Unlock()
	s.edit(key, func(l *v1alpha1.LoadLine) {
		l.Spec.Policy = v1alpha1.Policy{Baseline: "planner"}
		l.Spec.Twin = &v1alpha1.ConfigMapKey{Name: name.Name, Key: "twin.yaml"}
	})
}
