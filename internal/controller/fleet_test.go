package controller

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/fleet/teacher"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/registry"
	"github.com/loadline/loadline/internal/resource"
	"github.com/loadline/loadline/internal/rl"
	"github.com/loadline/loadline/internal/train"
)

// taught is a LoadLine of bookinfo, whose students decide for productpage, reviews
// and ratings; details has no student.
const taught = `
metadata: {name: shop, namespace: ns, generation: 1, uid: "1"}
spec:
  mode: MODE
  objectives: [{latency: 250ms}]
  prometheus: {url: "http://prometheus:9090"}
  policy: {model: {folder: registry}}
  fallback: "hpa:target=60"
  services:
  - {name: productpage, targetRef: {name: productpage}, bounds: {replicas: {min: 1, max: 20}}}
  - {name: details, targetRef: {name: details}, bounds: {replicas: {min: 1, max: 20}}}
  - {name: reviews, targetRef: {name: reviews}, bounds: {replicas: {min: 1, max: 20}}}
  - {name: ratings, targetRef: {name: ratings}, bounds: {replicas: {min: 1, max: 20}}}
`

// classroom is a world in which students decide.
type classroom struct {
	*stage
	t      *testing.T
	twin   *loadline.App
	think  bool   // teachers think in the twin
	models string // folder of registries
	meet   *Fleet
	app    *application
	views  []*view
}

// WaitUntil implements loop.Clock: time is what the test says it is.
func (c *classroom) WaitUntil(ctx context.Context, t time.Time) error {
	if t.After(c.now) {
		c.now = t
	}
	return ctx.Err()
}

// Now implements loop.Clock.
func (c *classroom) Now() time.Time { return c.now }

// Observe implements metering: everything that students look at is there.
func (c *classroom) Observe(_ context.Context, now time.Time, _ [][]string, into *loadline.Observation) error {
	sample := func(v float64) loadline.Sample { return loadline.Sample{Value: v, At: now} }
	for i := range into.Services {
		s := &into.Services[i]
		s.Rate, s.CPU, s.Memory = sample(40), sample(0.9), sample(100<<20)
		s.Latency.P99 = sample(0.05)
		for j := range s.Pods {
			s.Pods[j].CPU, s.Pods[j].Memory = sample(0.45), sample(100<<20)
		}
	}
	for i := range into.Kinds {
		into.Kinds[i].Rate, into.Kinds[i].AtSLO, into.Kinds[i].OverSLO = sample(40), sample(0.05), sample(0)
	}
	return nil
}

func newClass(t *testing.T, mode v1alpha1.Mode) *classroom {
	t.Helper()
	bookinfo, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	c := &classroom{stage: &stage{l: load(t, strings.ReplaceAll(taught, "MODE", string(mode))), now: noon}, t: t, twin: bookinfo.App,
		models: t.TempDir()}
	template := loadline.Size{CPURequest: 0.5, CPULimit: 0.5, MemoryRequest: 256 << 20, MemoryLimit: 256 << 20}
	for range c.twin.Services {
		s := kube.State{Replicas: 3, Status: 3, Template: template}
		for _, name := range []string{"a", "b", "c"} {
			p := pod(name, 0.5)
			p.Desired, p.Size = template, template
			s.Pods = append(s.Pods, p)
		}
		c.states = append(c.states, s)
	}
	return c
}

// options of a fleet with a server in this process.
func (c *classroom) options(store string) FleetOptions {
	server := fleet.DefaultServer(store)
	server.LazySync = true
	config := fleet.Default()
	config.Timeout, config.MaxBytes, config.WeightBytes = 20*time.Second, 1<<20, 1<<20
	return FleetOptions{Config: config, Server: server, Teach: true, Teachers: DefaultTeachers, Now: time.Now}
}

// open the application, as assemble does.
func (c *classroom) open(meet *Fleet) {
	c.t.Helper()
	spec, err := resource.Read(c.l, c.twin)
	if err != nil {
		c.t.Fatal(err)
	}
	a := &application{Application: spec, cluster: c.ends(spec), fleet: meet, name: fleetName("loadline", c.l)}
	a.cluster.act = a.Mode == v1alpha1.Act
	if c.think {
		a.world = spec.App
	}
	a.cluster.source = func(context.Context, time.Time) (metering, error) { return c, nil }
	if err := a.guardIt(c.t.Context(), models{named{}, c.models, spec}, c.l, c.now); err != nil {
		c.t.Fatal(err)
	}
	a.loop.Clock = c
	c.app, c.meet = a, meet
}

// live for so many passes.
func (c *classroom) live(passes int) {
	c.t.Helper()
	r := New(c.t.Context(), Options{Log: slog.New(slog.DiscardHandler), Now: c.Now, DryRun: true}).newRunner(c.l)
	r.renewed = c.now.Add(24 * time.Hour) // models are renewed by the tests
	for range passes {
		v, err := r.pass(c.t.Context(), c.app)
		if err != nil {
			c.t.Fatal(err)
		}
		c.views = append(c.views, v)
		c.now = c.now.Add(c.app.Needs.Period)
	}
}

// end as a process does that is told to.
func (c *classroom) end() {
	c.t.Helper()
	if err := c.app.close(); err != nil {
		c.t.Fatal(err)
	}
	if c.meet != nil {
		if err := c.meet.Close(); err != nil {
			c.t.Fatal(err)
		}
	}
}

// decided is how many decisions the students' publisher was given.
func (c *classroom) decided() (n uint64) {
	for _, s := range c.app.member.agent.Status() {
		n += s.Decisions
	}
	return n
}

// promote untrained students.
func (c *classroom) promote(seed uint64, services ...string) {
	c.t.Helper()
	if len(services) == 0 {
		services = []string{"productpage", "reviews", "ratings"}
	}
	eyes, err := drpc.NewEncoder(c.twin)
	if err != nil {
		c.t.Fatal(err)
	}
	teacher, err := nn.MLP{Inputs: []int{eyes.Width(drpc.Shared) / len(c.twin.Services)}, Hidden: []int{4}, Outputs: drpc.Axes,
		Output: nn.Tanh}.Design().Build(nn.HeUniform, rl.NewRNG(seed, 1).Rand)
	if err != nil {
		c.t.Fatal(err)
	}
	m := &drpc.Model{
		App: "shop", Kind: drpc.Continuous, Shape: drpc.Shared, Teacher: teacher, Period: 30 * time.Second, Version: 1,
		Pace:  drpc.DefaultPace(),
		Steps: drpc.DefaultSteps(), Reward: drpc.DefaultReward(), Notifier: drpc.DefaultNotifier(), Visits: drpc.NewVisitCounts(),
	}
	for i, name := range services {
		s, err := drpc.NewStudent(name, drpc.StudentConfig(), seed+uint64(i))
		if err != nil {
			c.t.Fatal(err)
		}
		m.Services, m.Students, m.Forecasts = append(m.Services, name), append(m.Students, s.Net()), append(m.Forecasts, nil)
	}
	path := filepath.Join(c.t.TempDir(), "drpc.safetensors")
	if err := m.Write(path); err != nil {
		c.t.Fatal(err)
	}
	app := *c.twin
	app.Name = "shop"
	if _, err := registry.Open(filepath.Join(c.models, "registry")).Promote(registry.Offer{App: &app, Model: path,
		Promotion: registry.Promotion{Candidate: "drpc", At: noon}}); err != nil {
		c.t.Fatal(err)
	}
}

// eventually looks until something is so. The test binary's timeout is the bound.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	t.Logf("waiting until %s", what)
	for !so() {
		time.Sleep(10 * time.Millisecond)
	}
}

func (c *classroom) verdict() verdict {
	c.t.Helper()
	v := c.app.fleetVerdict()
	if v == nil {
		c.t.Fatal("nothing is said of a fleet")
	}
	return *v
}

func TestStudentsDecideInTheirFleet(t *testing.T) {
	store := filepath.Join(t.TempDir(), "fleet")
	c := newClass(t, v1alpha1.Act)
	c.promote(1)
	c.open(NewFleet(c.options(store)))
	c.live(20)
	if rung := c.app.ladder.State(); rung.Rung != guard.Primary {
		t.Fatalf("on %v: %s", rung.Rung, rung.Why)
	}
	last := c.views[len(c.views)-1]
	if last.policy != "shop version 1" {
		t.Errorf("%q is followed", last.policy)
	}
	rule := false
	for _, v := range c.views {
		for _, p := range v.plan.Services {
			rule = rule || c.app.App.Services[p.Service].Name == "details" && strings.HasPrefix(v.services[p.Service].reason, "rule: ")
		}
	}
	if !rule {
		t.Error("the rule did not decide for details, which has no student")
	}
	first := c.decided()
	if first == 0 {
		t.Fatal("no decision was handed to the publisher")
	}
	embedded := c.app.member.teacher
	eventually(t, "the teacher counts every decision", func() bool { return embedded.Status().Counted == first })
	eventually(t, "the weights are published and taken", func() bool {
		c.live(1)
		return c.app.member.agent.Status()[0].Version == 2
	})
	if v := c.verdict(); v.reason != v1alpha1.ReasonInReach {
		t.Errorf("%+v", v)
	}
	first = c.decided()
	c.end()

	// Another process with the same folder goes on from there: nothing is counted
	// twice, and what was promoted meanwhile gets a higher version.
	c.promote(7)
	c.open(NewFleet(c.options(store)))
	c.live(10)
	second := c.decided()
	embedded = c.app.member.teacher
	eventually(t, "both processes' decisions are counted once", func() bool { return embedded.Status().Counted == first+second })
	eventually(t, "the new model's weights are taken", func() bool {
		c.live(1)
		return c.app.member.agent.Status()[0].Version == 3
	})
	c.end()
}

// TestTheTeacherLearnsFromWhatStudentsDo has a teacher with a twin to think in, and a
// agent that observes the whole application.
func TestTheTeacherLearnsFromWhatStudentsDo(t *testing.T) {
	c := newClass(t, v1alpha1.Act)
	c.think = true
	c.promote(1, "productpage", "details", "reviews", "ratings")
	o := c.options(filepath.Join(t.TempDir(), "fleet"))
	o.Configure = func(k *teacher.Config) {
		k.WarmUp, k.SaveEvery, k.PollEvery = 20, 0, 10*time.Millisecond
		k.Training.Teacher.WarmUp, k.Training.Stage1.Episodes, k.Training.Episode = 10, 1, 10
	}
	c.open(NewFleet(o))
	c.live(40)
	decided, embedded := c.decided(), c.app.member.teacher
	eventually(t, "the teacher counts every decision and learns from some of them", func() bool {
		s := embedded.Status()
		if s.Problem != "" {
			t.Fatalf("problem: %s", s.Problem)
		}
		return s.Counted == decided && s.Learned > 0
	})
	if v := c.verdict(); v.reason != v1alpha1.ReasonInReach || !strings.Contains(v.message, "teacher: ") {
		t.Errorf("%+v", v)
	}
	c.end()
}

func TestAPromotionIsTakenUpByTheSameProcess(t *testing.T) {
	c := newClass(t, v1alpha1.Act)
	c.promote(1)
	c.open(NewFleet(c.options(filepath.Join(t.TempDir(), "fleet"))))
	c.live(2)
	c.promote(5)
	if news := c.app.renew(t.Context(), c.l, c.now); news != "the model is now shop version 2" {
		t.Errorf("renewed: %q", news)
	}
	if news := c.app.renew(t.Context(), c.l, c.now); news != "" {
		t.Errorf("renewed for nothing: %q", news)
	}
	eventually(t, "the new model's weights are published and taken", func() bool {
		c.live(1)
		return c.app.member.agent.Status()[0].Version >= 2 &&
			c.app.member.teacher.Status().Version == c.app.member.agent.Status()[0].Version
	})
	c.end()
}

func TestRecommendationsAreNoExperience(t *testing.T) {
	c := newClass(t, v1alpha1.Recommend)
	c.promote(1)
	c.open(NewFleet(c.options(filepath.Join(t.TempDir(), "fleet"))))
	c.live(10)
	if n := c.decided(); n != 0 {
		t.Errorf("%d decisions that were not applied were published", n)
	}
	c.end()
}

func TestSeveralControllersNeedServersThatTheyShare(t *testing.T) {
	c := newClass(t, v1alpha1.Act)
	c.promote(1)
	o := c.options(filepath.Join(t.TempDir(), "fleet"))
	o.Refusal = "several controller replicas need an external NATS cluster"
	c.open(NewFleet(o))
	c.live(3)
	status := c.views[len(c.views)-1].status(c.l, c.app.model, nil)
	want := map[string]string{v1alpha1.ConditionFallback: "True NoFleet", v1alpha1.ConditionFleet: "False NoFleet"}
	for _, k := range status.Conditions {
		if w := want[k.Type]; w != "" {
			delete(want, k.Type)
			if got := string(k.Status) + " " + k.Reason; got != w || !strings.Contains(k.Message, o.Refusal) {
				t.Errorf("%s is %s: %s", k.Type, got, k.Message)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not said: %v", want)
	}
	c.end()
	if matches, _ := filepath.Glob(filepath.Join(o.Server.Folder, "*")); len(matches) > 0 {
		t.Errorf("a server was started: %v", matches)
	}
}

func TestStudentsActOnWithoutAServer(t *testing.T) {
	store := filepath.Join(t.TempDir(), "fleet")
	c := newClass(t, v1alpha1.Act)
	o := c.options(store)
	other, err := fleet.Serve(o.Server) // another server has the folder
	if err != nil {
		t.Fatal(err)
	}
	c.promote(1)
	c.open(NewFleet(o))
	c.live(10)
	if rung := c.app.ladder.State(); rung.Rung != guard.Primary {
		t.Errorf("on %v: %s", rung.Rung, rung.Why)
	}
	if v := c.verdict(); v.reason != v1alpha1.ReasonOutOfReach || !strings.Contains(v.message, "in use") {
		t.Errorf("%+v", v)
	}
	other.Stop()
	c.app.renew(t.Context(), c.l, c.now)
	c.live(10)
	if v := c.verdict(); v.reason != v1alpha1.ReasonInReach || c.decided() == 0 {
		t.Errorf("%+v after %d decisions", v, c.decided())
	}
	c.end()
}

func TestStudentsNeedATwinToSeeByIt(t *testing.T) {
	c := newClass(t, v1alpha1.Act)
	c.promote(1)
	c.twin = nil
	c.open(nil)
	if m := c.app.model; m.reason != v1alpha1.ReasonModelInvalid || !strings.Contains(m.why, "spec.twin") {
		t.Errorf("%s: %s", m.reason, m.why)
	}
}

func TestWithoutAFleetStudentsDecideAlone(t *testing.T) {
	c := newClass(t, v1alpha1.Act)
	c.promote(1)
	c.open(nil)
	c.live(10)
	if rung := c.app.ladder.State(); rung.Rung != guard.Primary {
		t.Errorf("on %v: %s", rung.Rung, rung.Why)
	}
	if v := c.app.fleetVerdict(); v != nil {
		t.Errorf("a fleet: %+v", v)
	}
	c.end()
}

// TestTeachersThatLearnAreBounded: beyond their number teachers count and publish, and one of them learns
// when another has ended.
func TestTeachersThatLearnAreBounded(t *testing.T) {
	f := NewFleet(FleetOptions{Teachers: 2})
	learn := teacher.Task{Scenario: &train.Scenario{}}
	for i, want := range []bool{true, true, false, false} {
		name := string(rune('a' + i))
		got := f.admit(name, learn)
		if (got.Scenario != nil) != want || want != (got.Reason == "") {
			t.Errorf("%s: %+v", name, got)
		}
		f.teachers[name] = &embeddedTeacher{name: name, Supervisor: teacher.NewSupervisor(teacher.Options{}, got)}
	}
	if again := f.admit("a", learn); again.Scenario == nil {
		t.Error("a teacher that learns was stopped by another task of its own")
	}
	f.admit("d", teacher.Task{}) // its twin was removed while it waited
	f.admitNext("a")
	if !f.learning["c"] || f.learning["a"] || len(f.waiting) != 0 || len(f.learning) != 2 {
		t.Errorf("%v learn, %v wait", f.learning, f.waiting)
	}
}

func TestFleetName(t *testing.T) {
	for _, row := range []struct{ name, namespace, loadline, application, annotation, want string }{
		{"namespace and LoadLine", "shop", "web", "", "", "loadline_shop_web"},
		{"the model's application", "shop", "web", "store", "", "loadline_shop_store"},
		{"the annotation", "shop", "web", "store", "all-shops", "loadline_shop_all-shops"},
		{"the fleet of another namespace", "shop", "web", "store", "loadline_bank_store", "loadline_shop_loadline_bank_store"},
		{"subjects of others", "shop", "web", "store", "*.>", "loadline_shop_----"},
		{"what a stream may not be called", "shop", "web.v1", "", "", "loadline_shop_web-v1-a4761089"},
		{"what is too long", "shop", strings.Repeat("x", 80), "", "", "loadline_shop_" + strings.Repeat("x", 41) + "-"},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := &v1alpha1.LoadLine{}
			l.Namespace, l.Name = row.namespace, row.loadline
			if row.application != "" {
				l.Spec.Policy.Model = &v1alpha1.Model{Application: row.application}
			}
			if row.annotation != "" {
				l.Annotations = map[string]string{v1alpha1.FleetAnnotation: row.annotation}
			}
			got := fleetName("loadline", l)
			if !strings.HasPrefix(got, row.want) || len(got) > 64 {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}
