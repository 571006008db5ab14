package controller

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
)

// classed is a controller over a stage whose LoadLine has no Prometheus of its own. What
// it is opened with is recorded.
func classed(t *testing.T, s *stage) (c *Controller, opened *[]string, end func()) {
	t.Helper()
	s.l.Spec.Prometheus = v1alpha1.PrometheusSource{}
	ctx, cancel := context.WithCancel(context.Background())
	c = New(ctx, Options{Client: server(t, s.l), Log: slog.New(slog.DiscardHandler), Now: time.Now, Namespace: "system"})
	c.restorer = func(string) restorer { return s }
	opened = new([]string)
	c.open = func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
		a, err := c.assemble(ctx, l, latest) // reads the class, and fails without a Prometheus
		if err != nil {
			*opened = append(*opened, "nothing")
			return nil, err
		}
		m, err := a.cluster.source(ctx, time.Now())
		if m != nil || err == nil {
			t.Error("a Prometheus was reached")
		}
		*opened = append(*opened, err.Error())
		return s.open(ctx, l, latest)
	}
	return c, opened, func() {
		cancel()
		c.Wait()
	}
}

// The installation's default serves a LoadLine without an address, and not its token.
func TestDefaultPrometheusOfTheInstallation(t *testing.T) {
	asked := make(chan http.Header, 100)
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Clone()
		w.WriteHeader(http.StatusTeapot)
	}))
	defer prometheus.Close()
	s, _ := newStage(t)
	s.l.Spec.Prometheus = v1alpha1.PrometheusSource{PrometheusServer: v1alpha1.PrometheusServer{
		BearerToken: &v1alpha1.SecretKey{Name: "absent", Key: "token"}}}
	c := New(t.Context(), Options{Client: server(t, s.l), Log: slog.New(slog.DiscardHandler), Now: time.Now, Prometheus: prometheus.URL})
	a, err := c.assemble(t.Context(), s.l, func() *v1alpha1.LoadLine { return s.l })
	if err != nil {
		t.Fatal(err)
	}
	if err := a.cluster.measure(t.Context(), time.Now(), &loadline.Observation{}); err == nil || !strings.Contains(err.Error(), "418") {
		t.Errorf("%v", err)
	}
	if header := <-asked; header.Get("Authorization") != "" {
		t.Errorf("got %v", header)
	}
}

// A class that appears or changes reaches running LoadLines, whether they failed for want
// of it or not. A change of its reserve does not restart them.
func TestChangesOfAClassReachLoadLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		c, opened, end := classed(t, s)
		defer end()
		wake := func() {
			t.Helper()
			for _, r := range append(c.ofClasses(t.Context(), nil), request(s.l)) {
				if _, err := c.Reconcile(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		wake()
		got := ready(t, c, s.l)
		if got.Reason != v1alpha1.ReasonNoPrometheus || !strings.Contains(got.Message, "create a class with spec.prometheus") {
			t.Fatalf("Ready is %+v", got)
		}
		class := &v1alpha1.LoadLineClass{ObjectMeta: metav1.ObjectMeta{Name: "standard",
			Annotations: map[string]string{v1alpha1.DefaultClassAnnotation: "true"}}}
		class.Spec.Prometheus = &v1alpha1.PrometheusServer{URL: "http://first", BearerToken: &v1alpha1.SecretKey{Name: "token", Key: "t"}}
		if err := c.Client.Create(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		wake()
		if got := ready(t, c, s.l); got.Status != metav1.ConditionTrue {
			t.Fatalf("Ready is %+v with a class", got)
		}
		count := len(*opened)
		class.Spec.Reserve.Policy = v1alpha1.ReserveAuto
		if err := c.Client.Update(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		wake()
		if len(*opened) != count {
			t.Errorf("restarted by the reserve: %v", *opened)
		}
		class.Spec.Prometheus.BearerToken.Name = "other"
		if err := c.Client.Update(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		wake()
		if last := (*opened)[len(*opened)-1]; len(*opened) != count+1 || !strings.Contains(last, "the Secret system/other does not exist") ||
			!strings.Contains(last, "LoadLineClass standard spec.prometheus.bearerToken") {
			t.Errorf("opened with %q", *opened)
		}
	})
}

func TestAClassThatDoesNotExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		s.l.Spec.ClassName = "standrad"
		c, _, end := classed(t, s)
		defer end()
		if _, err := c.Reconcile(t.Context(), request(s.l)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := ready(t, c, s.l); got.Reason != v1alpha1.ReasonClassNotFound || !strings.Contains(got.Message, "standrad") {
			t.Errorf("Ready is %+v", got)
		}
	})
}

// witness is a policy that records announced events, and wants a reserve.
type witness struct {
	loadline.Policy
	saw     *[]string
	reserve *loadline.Opt[loadline.Room]
}

func (w witness) Decide(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
	var names []string
	for _, e := range s.Announced {
		names = append(names, e.Name)
	}
	*w.saw = append(*w.saw, strings.Join(names, " "))
	return loadline.Proposal{Reserve: *w.reserve}, nil
}

// watched is a running controller whose policy is a witness.
func watched(t *testing.T, s *stage) (c *Controller, saw *[]string, reserve *loadline.Opt[loadline.Room], end func()) {
	c, end = running(t, s)
	saw, reserve = new([]string), new(loadline.Opt[loadline.Room])
	c.open = func(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
		a, err := s.open(ctx, l, latest)
		if err == nil {
			a.loop.Policy = witness{a.loop.Policy, saw, reserve}
		}
		return a, err
	}
	return c, saw, reserve, end
}

func TestAnnouncedEventsReachThePolicyAndTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		began := time.Now()
		s.now, s.rate.At = began, began
		s.l.Spec.Events = []v1alpha1.Event{{Name: "sale", Start: metav1.NewTime(began.Add(time.Minute)),
			End: metav1.NewTime(began.Add(2 * time.Minute)), Factor: v1alpha1.Decimal(3)}}
		c, saw, _, end := watched(t, s)
		defer end()
		if _, err := c.Reconcile(t.Context(), request(s.l)); err != nil {
			t.Fatal(err)
		}
		check := func(after time.Duration, reason, event string, running bool) {
			t.Helper()
			time.Sleep(time.Until(began.Add(after)))
			synctest.Wait()
			status := stored(t, c.Client, s.l).Status
			got := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionAnnounced)
			if reason == "" {
				if got != nil || status.Event != nil {
					t.Errorf("after %v: %+v, %+v", after, got, status.Event)
				}
			} else if got == nil || got.Reason != reason || status.Event == nil || status.Event.Name != event ||
				status.Event.Running != running || status.Event.Factor != "3" {
				t.Errorf("after %v: %+v, %+v", after, got, status.Event)
			}
			if last := (*saw)[len(*saw)-1]; last != event {
				t.Errorf("after %v the policy saw %q, want %q", after, last, event)
			}
		}
		check(5*time.Second, v1alpha1.ReasonEventAhead, "sale", false)
		check(65*time.Second, v1alpha1.ReasonEventRunning, "sale", true)
		check(125*time.Second, "", "", false)
		if events := stored(t, c.Client, s.l).Spec.Events; len(events) != 1 {
			t.Errorf("the spec has %v", events)
		}
	})
}

func TestAnAnnotationThatIsNotUnderstoodIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		s.now, s.rate.At = time.Now(), time.Now()
		s.l.Annotations = map[string]string{v1alpha1.EventsAnnotation: "sale=tomorrow"}
		c, saw, _, end := watched(t, s)
		defer end()
		if _, err := c.Reconcile(t.Context(), request(s.l)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		got := meta.FindStatusCondition(stored(t, c.Client, s.l).Status.Conditions, v1alpha1.ConditionAnnounced)
		if got == nil || got.Reason != v1alpha1.ReasonEventsNotUnderstood || !strings.Contains(got.Message, "sale=tomorrow") {
			t.Errorf("%+v", got)
		}
		if !slices.Equal(*saw, []string{""}) {
			t.Errorf("the policy saw %q", *saw)
		}
	})
}

// A higher wish is in the status at once, a lower one with the next status; a pass
// without a wish leaves it.
func TestTheWishForAReserveIsInTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newStage(t)
		s.now, s.rate.At = time.Now(), time.Now()
		c, _, reserve, end := watched(t, s)
		defer end()
		*reserve = loadline.Some(loadline.Room{Cores: 2, Memory: 1 << 30})
		if _, err := c.Reconcile(t.Context(), request(s.l)); err != nil {
			t.Fatal(err)
		}
		check := func(wish loadline.Opt[loadline.Room], want string) {
			t.Helper()
			*reserve = wish
			time.Sleep(15 * time.Second)
			synctest.Wait()
			if got := stored(t, c.Client, s.l).Status.Reserve; got == nil || got.CPU.String() != want {
				t.Errorf("the status has %+v, want %s", got, want)
			}
		}
		time.Sleep(time.Second)
		check(loadline.Some(loadline.Room{Cores: 5, Memory: 1 << 30}), "5")
		check(loadline.Some(loadline.Room{Cores: 1}), "5") // not worth a write of its own
		check(loadline.Opt[loadline.Room]{}, "1")
	})
}
