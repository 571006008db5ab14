package controller

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/loop"
)

// wishing proposes what a test wishes for the optional service.
type wishing struct {
	loadline.Policy
	wish *loadline.Setting
}

func (w wishing) Decide(_ time.Time, s loadline.Situation) (loadline.Proposal, error) {
	i := s.App.ServiceIndex("ads")
	if i < 0 || w.wish.Empty() {
		return loadline.Proposal{}, nil
	}
	return loadline.Proposal{Services: []loadline.ServiceProposal{{Service: i, Setting: *w.wish}}}, nil
}

// theatre is a controller over a stage, with a policy that tests direct.
type theatre struct {
	*stage
	api  client.Client
	wish loadline.Setting // for the service ads
	c    *Controller
	end  func()
}

// newTheatre has not started its controller yet. It is for a synctest bubble.
func newTheatre(t *testing.T) *theatre {
	s, _ := newStage(t)
	s.now, s.rate.At = time.Now(), time.Now()
	th := &theatre{stage: s, api: server(t, s.l)}
	return th
}

// open is the stage's, with the policy that wishes.
func (th *theatre) open(ctx context.Context, l *v1alpha1.LoadLine, latest func() *v1alpha1.LoadLine) (*application, error) {
	a, err := th.stage.open(ctx, l, latest)
	if err == nil {
		a.loop.Policy = wishing{a.loop.Policy, &th.wish}
		a.loop.Guards = []loop.Guard{holdGuard{a.cluster, a.ladder.SLOBurns}}
	}
	return a, err
}

func (th *theatre) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := New(ctx, Options{Client: th.api, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	c.restorer = func(string) restorer { return th.stage }
	c.open = th.open
	th.c, th.end = c, func() {
		cancel()
		c.Wait()
	}
	t.Cleanup(th.end)
	th.reconcile(t)
}

// reconcile and let some passes happen.
func (th *theatre) reconcile(t *testing.T) {
	t.Helper()
	result, err := th.c.Reconcile(context.Background(), request(th.l))
	for err == nil && result.RequeueAfter > 0 {
		time.Sleep(result.RequeueAfter)
		result, err = th.c.Reconcile(context.Background(), request(th.l))
		if th.restoreErr != nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	th.passes()
}

func (th *theatre) passes() {
	time.Sleep(40 * time.Second) // three passes
	synctest.Wait()
}

// stored is the LoadLine in the API server; nil if it is gone.
func (th *theatre) stored(t *testing.T) *v1alpha1.LoadLine {
	t.Helper()
	var l v1alpha1.LoadLine
	err := th.api.Get(context.Background(), client.ObjectKeyFromObject(th.l), &l)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return &l
}

// edit the LoadLine as a user does.
func (th *theatre) edit(t *testing.T, change func(*v1alpha1.LoadLine)) {
	t.Helper()
	l := th.stored(t)
	spec := l.Spec.DeepCopy()
	change(l)
	if !equality.Semantic.DeepEqual(*spec, l.Spec) {
		l.Generation++
	}
	if err := th.api.Update(context.Background(), l); err != nil {
		t.Fatal(err)
	}
}

func (th *theatre) remove(t *testing.T) {
	t.Helper()
	if err := th.api.Delete(context.Background(), th.stored(t)); err != nil {
		t.Fatal(err)
	}
}

// brownOut scales the optional service to zero, and leaves it to others to end that.
func (th *theatre) brownOut(t *testing.T) {
	t.Helper()
	th.wish = brownout(true)
	th.start(t)
	th.wish = loadline.Setting{}
	if n := th.states[1].Replicas; n != 0 {
		t.Fatalf("ads has %d replicas in a brownout", n)
	}
}

// expectRestored checks that ads has its two replicas again and nothing is left behind.
func (th *theatre) expectRestored(t *testing.T) {
	t.Helper()
	if n := th.states[1].Replicas; n != 2 {
		t.Errorf("ads has %d replicas, want 2", n)
	}
	th.expectReleased(t)
}

func (th *theatre) expectReleased(t *testing.T) {
	t.Helper()
	if l := th.stored(t); l != nil && (len(l.Status.BrownedOut) > 0 || len(l.Finalizers) > 0 || !l.DeletionTimestamp.IsZero()) {
		t.Errorf("left behind: %+v, finalizers %q, deleted at %v", l.Status.BrownedOut, l.Finalizers, l.DeletionTimestamp)
	}
}

// ways in which nothing but the record of a brownout can end it.
var ways = []struct {
	name string
	do   func(*testing.T, *theatre)
}{
	{"the LoadLine is deleted", func(t *testing.T, th *theatre) { th.remove(t) }},
	{"the mode becomes Recommend", editing(func(l *v1alpha1.LoadLine) { l.Spec.Mode = v1alpha1.Recommend })},
	{"the mode becomes Observe", editing(func(l *v1alpha1.LoadLine) { l.Spec.Mode = v1alpha1.Observe })},
	{"the service is removed", editing(func(l *v1alpha1.LoadLine) { l.Spec.Services = slices.Delete(l.Spec.Services, 1, 2) })},
	{"the guard is disabled", editing(func(l *v1alpha1.LoadLine) {
		l.Spec.Guard = &v1alpha1.GuardSettings{Without: []v1alpha1.GuardName{"brownout"}}
	})},
	{"the service is not optional any more", editing(func(l *v1alpha1.LoadLine) { l.Spec.Services[1].Optional = nil })},
	{"another agent runs the LoadLine", editing(func(l *v1alpha1.LoadLine) { l.Labels = map[string]string{v1alpha1.AgentLabel: "edge"} })},
	{"KEDA scales the service", editing(func(l *v1alpha1.LoadLine) { l.Spec.Services[1].MovedBy = v1alpha1.ByKEDA })},
}

func editing(change func(*v1alpha1.LoadLine)) func(*testing.T, *theatre) {
	return func(t *testing.T, th *theatre) { th.edit(t, change) }
}

func TestABrownoutIsNeverPermanent(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				th.brownOut(t)
				way.do(t, th)
				th.reconcile(t)
				th.expectRestored(t)
			})
		})
		t.Run(way.name+" while the controller is down", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				th.brownOut(t)
				th.end()
				way.do(t, th)
				th.start(t)
				th.expectRestored(t)
			})
		})
	}
}

func TestABrownoutGoesOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		th.brownOut(t)
		l := th.stored(t)
		want := v1alpha1.BrownedOut{Service: "ads", TargetRef: v1alpha1.TargetRef{Name: "ads"}, MovedBy: v1alpha1.ByScale, Replicas: 2}
		if !slices.Equal(l.Status.BrownedOut, []v1alpha1.BrownedOut{want}) || !slices.Equal(l.Finalizers,
			[]string{v1alpha1.BrownoutFinalizer}) {
			t.Errorf("recorded: %+v, finalizers %q", l.Status.BrownedOut, l.Finalizers)
		}
		th.end()
		th.start(t)
		if n := th.states[1].Replicas; n != 0 {
			t.Errorf("%d replicas after a restart, and the brownout is not over", n)
		}
		th.wish = brownout(false)
		th.passes()
		th.expectRestored(t)
	})
}

func TestALoadLineWithoutABrownoutHasNoFinalizer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		th.wish = replicas(1)
		th.start(t)
		if l := th.stored(t); len(l.Finalizers) > 0 {
			t.Errorf("finalizers %q", l.Finalizers)
		}
		th.remove(t)
		if th.stored(t) != nil {
			t.Error("its deletion waits")
		}
		th.reconcile(t)
	})
}

func TestWhatOthersHaveScaledToZeroStaysThere(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				th.brownOut(t)
				th.end()
				th.states[1].Changed = kube.Change{Manager: "kubectl"} // to 1 and to 0 again
				way.do(t, th)
				th.start(t)
				if n := th.states[1].Replicas; n != 0 {
					t.Errorf("raised to %d", n)
				}
				th.expectReleased(t)
			})
		})
	}
	t.Run("the brownout ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			th := newTheatre(t)
			th.brownOut(t)
			th.states[1].Changed = kube.Change{Manager: "kubectl"}
			th.passes()
			th.wish = brownout(false)
			th.passes()
			if n := th.states[1].Replicas; n != 0 {
				t.Errorf("raised to %d", n)
			}
			th.expectReleased(t)
		})
	})
}

func TestAWorkloadThatIsGoneHoldsNothingUp(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				th.brownOut(t)
				th.states[1] = kube.State{Err: kube.ErrNotFound}
				way.do(t, th)
				th.reconcile(t)
				th.expectReleased(t)
			})
		})
	}
}

func TestARefusedRestorationIsReportedAndTriedAgain(t *testing.T) {
	for _, way := range ways[:2] {
		t.Run(way.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				th.brownOut(t)
				th.restoreErr = errors.New("admission webhook denied the request")
				way.do(t, th)
				th.reconcile(t)
				c := ready(t, th.c, th.l)
				if c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonBrownoutNotRestored ||
					!strings.Contains(c.Message, "service ads") || !strings.Contains(c.Message, "denied") {
					t.Errorf("Ready is %+v", c)
				}
				if l := th.stored(t); len(l.Finalizers) != 1 || len(l.Status.BrownedOut) != 1 {
					t.Errorf("forgotten: %+v, finalizers %q", l.Status.BrownedOut, l.Finalizers)
				}
				th.restoreErr = nil
				th.reconcile(t)
				time.Sleep(longestRetry)
				synctest.Wait()
				th.expectRestored(t)
				if th.stored(t) != nil {
					if c := ready(t, th.c, th.l); c.Status != metav1.ConditionTrue {
						t.Errorf("Ready is %+v after it was restored", c)
					}
				}
			})
		})
	}
}

func TestAPauseDelaysARestorationButNotADeletion(t *testing.T) {
	pauses := map[string]func(*testing.T, *theatre){
		"the LoadLine is paused": editing(func(l *v1alpha1.LoadLine) { l.Spec.Paused = true }),
		"the workload is paused": func(_ *testing.T, th *theatre) { th.states[1].Paused = true },
	}
	for name, pause := range pauses {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				th.brownOut(t)
				pause(t, th)
				th.edit(t, func(l *v1alpha1.LoadLine) { l.Spec.Mode = v1alpha1.Recommend })
				th.reconcile(t)
				if n := th.states[1].Replicas; n != 0 {
					t.Errorf("raised to %d", n)
				}
				if l := th.stored(t); len(l.Status.BrownedOut) != 1 {
					t.Error("forgotten")
				}
				th.remove(t)
				th.reconcile(t)
				th.expectRestored(t)
			})
		})
	}
}

// A process may end after each of its writes.
func TestCrashesAroundABrownout(t *testing.T) {
	entry := []v1alpha1.BrownedOut{{Service: "ads", TargetRef: v1alpha1.TargetRef{Name: "ads"}, Replicas: 2}}
	applied := func(l *v1alpha1.LoadLine, off bool) {
		two := int32(2)
		at := metav1.NewTime(time.Now())
		l.Status.Mode = v1alpha1.Act
		l.Status.Services = []v1alpha1.ServiceStatus{{Name: "ads", LastChangeTime: &at,
			Applied: &v1alpha1.Amounts{Replicas: &two, Brownout: &off}}}
	}
	for _, crash := range []struct {
		name     string
		left     func(l *v1alpha1.LoadLine)
		replicas int
		want     int // in the mode Act, without a decision
	}{
		{"between the finalizer and the status", func(l *v1alpha1.LoadLine) {}, 2, 2},
		{"between the status and the scale to zero", func(l *v1alpha1.LoadLine) {
			applied(l, true)
			l.Status.BrownedOut = entry
		}, 2, 2},
		{"after the scale to zero", func(l *v1alpha1.LoadLine) {
			applied(l, true)
			l.Status.BrownedOut = entry
		}, 0, 0},
		{"between the restoration and the status", func(l *v1alpha1.LoadLine) {
			applied(l, false)
			l.Status.BrownedOut = entry
		}, 2, 2},
		{"between the status and the removal of the finalizer", func(l *v1alpha1.LoadLine) { applied(l, false) }, 2, 2},
	} {
		t.Run(crash.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := newTheatre(t)
				th.l.Finalizers = []string{v1alpha1.BrownoutFinalizer}
				crash.left(th.l)
				th.api = server(t, th.l)
				th.states[1].Replicas = crash.replicas
				th.states[1].Changed = kube.Change{Manager: kube.Manager, Ours: true}
				th.start(t)
				if n := th.states[1].Replicas; n != crash.want {
					t.Errorf("%d replicas, want %d", n, crash.want)
				}
				off := crash.want == 0
				l := th.stored(t)
				if (len(l.Status.BrownedOut) == 1) != off || (len(l.Finalizers) == 1) != off {
					t.Errorf("brownouts %+v, finalizers %q", l.Status.BrownedOut, l.Finalizers)
				}
				ads := l.Status.Services[1].Applied
				if got := ads.Brownout != nil && *ads.Brownout; got != off {
					t.Errorf("brownout in the status: %v", got)
				}
				th.remove(t)
				th.reconcile(t)
				th.expectRestored(t)
			})
		})
	}
}

// A service under KEDA is at zero when KEDA has followed, and keeps its entry until KEDA
// has followed back.
func TestBrownoutUnderKEDA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		th.l.Spec.Services[1].MovedBy = v1alpha1.ByKEDA
		th.api = server(t, th.l)
		th.wish = brownout(true)
		th.start(t)
		entries := func(n int) {
			t.Helper()
			th.passes()
			if l := th.stored(t); len(l.Status.BrownedOut) != n || len(l.Finalizers) != n {
				t.Fatalf("brownouts %+v, finalizers %q, want %d", l.Status.BrownedOut, l.Finalizers, n)
			}
		}
		entries(1) // KEDA has not scaled yet
		th.states[1].Replicas, th.states[1].Changed = 0, kube.Change{Manager: "keda"}
		entries(1)
		th.wish = brownout(false)
		entries(1) // KEDA has not followed yet
		th.states[1].Replicas = 1
		entries(0)

		th.wish = brownout(true)
		entries(1)
		th.states[1].Replicas = 0
		th.wish = loadline.Setting{}
		th.remove(t)
		th.reconcile(t)
		if n := th.states[1].Replicas; n < 1 || th.stored(t) != nil {
			t.Errorf("%d replicas, LoadLine %v", n, th.stored(t))
		}
	})
}

// An HPA does nothing at zero replicas, and the guard must not touch a service in
// conflict.
func TestABrownoutEndsWithAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		th.brownOut(t)
		th.states[1].Conflicts = []kube.Conflict{{Reason: v1alpha1.ReasonHorizontalPodAutoscaler, Message: "HPA ads"}}
		th.passes()
		th.expectRestored(t)
	})
}

// Without the guard a policy that has begun a brownout must end it, and may not be in
// control any more.
func TestABrownoutEndsWithTheRungOfItsPolicy(t *testing.T) {
	for rung, want := range map[guard.Rung]int{guard.Primary: 0, guard.Rule: 1, guard.Hold: 1, guard.Floor: 1} {
		s, c := newStage(t)
		c.app.Guard.Off = []string{"brownout"}
		if err := s.pass(t, c, 1, brownout(true)); err != nil {
			t.Fatal(err)
		}
		c.findOrphans(rung)
		if len(c.orphans) != want || c.allocation(1).Brownout != (want == 0) {
			t.Errorf("on rung %v: %+v", rung, c.orphans)
		}
	}
}

// The bounds may be others by now.
func TestRestorationsAreWithinTheBounds(t *testing.T) {
	_, c := newStage(t)
	for replicas, want := range map[int32]int{1: 1, 4: 4, 9: 5} {
		how := c.restoring(orphan{BrownedOut: v1alpha1.BrownedOut{TargetRef: v1alpha1.TargetRef{Name: "ads"}, Replicas: replicas}})
		if how.To != want {
			t.Errorf("%d replicas are restored to %d, want %d", replicas, how.To, want)
		}
	}
}

func TestABrownoutEndsWhenTheLoadLineFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		th.brownOut(t)
		th.edit(t, func(l *v1alpha1.LoadLine) { l.Spec.Fallback = "no such rule" })
		th.reconcile(t)
		if n := th.states[1].Replicas; n != 0 {
			t.Errorf("%d replicas after a short failure", n)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		th.expectRestored(t)
	})
}

func TestADryRunRestoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		th.brownOut(t)
		th.end()
		th.edit(t, func(l *v1alpha1.LoadLine) { l.Spec.Mode = v1alpha1.Recommend })
		c := New(t.Context(), Options{Client: th.api, Log: slog.New(slog.DiscardHandler), Now: time.Now, DryRun: true})
		c.open, c.restorer = th.stage.open, func(string) restorer { return th.stage }
		c.Once(t.Context(), th.stored(t))
		if n := th.states[1].Replicas; n != 0 || len(th.stored(t).Finalizers) != 1 {
			t.Errorf("%d replicas, finalizers %q", n, th.stored(t).Finalizers)
		}
	})
}
