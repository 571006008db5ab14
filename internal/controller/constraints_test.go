package controller

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/policy"
)

// told is a policy that records whether a reserve is held.
type told struct {
	loadline.Policy
	held *[]bool
}

func (p told) ProposeReserve(held bool) { *p.held = append(*p.held, held) }

// A planner proposes a reserve by itself where the class of its LoadLine holds one, from
// the next pass on.
func TestAPolicyIsToldWhetherItsClassHoldsAReserve(t *testing.T) {
	s, _ := newStage(t)
	s.l.Spec.ClassName = "standard"
	class := &v1alpha1.LoadLineClass{ObjectMeta: metav1.ObjectMeta{Name: "standard"}}
	c := New(t.Context(), Options{Client: server(t, s.l, class), Log: slog.New(slog.DiscardHandler), Now: time.Now})
	var held []bool
	a := &application{model: decider{policy: told{held: &held}}}
	for _, p := range []v1alpha1.ReservePolicy{"", v1alpha1.ReserveAuto, v1alpha1.ReserveOff, v1alpha1.ReservePlaceholder} {
		class.Spec.Reserve.Policy = p
		if err := c.Client.Update(t.Context(), class); err != nil {
			t.Fatal(err)
		}
		c.proposeReserve(t.Context(), s.l, a)
	}
	if err := c.Client.Delete(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	c.proposeReserve(t.Context(), s.l, a) // a class that is gone says nothing
	if want := []bool{false, true, false, true}; !slices.Equal(held, want) {
		t.Errorf("the policy was told %v, want %v", held, want)
	}
	_, cluster := newStage(t)
	planner, err := policy.New("planner", cluster.app.App)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := planner.(interface{ ProposeReserve(held bool) }); !ok {
		t.Errorf("%T cannot be told", planner)
	}
}

// limitedStage is a stage in a namespace with constraints.
type limitedStage struct {
	*stage
	constraints loadline.Constraints
	err         error
	reads       int
}

func (f *limitedStage) Constraints(context.Context) (loadline.Constraints, error) {
	f.reads++
	return f.constraints, f.err
}

func TestConstraintsOfTheNamespaceAreReadOnceAMinute(t *testing.T) {
	s, c := newStage(t)
	f := &limitedStage{stage: s}
	f.constraints.Quota.Hard[loadline.QuotaPods] = loadline.Some(7.0)
	c.work = f
	look := func() {
		t.Helper()
		if err := c.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 { // 15 s apart
		look()
		s.now = s.now.Add(15 * time.Second)
	}
	if f.reads != 1 || c.constraints.known.Quota.Hard[loadline.QuotaPods].Value != 7 {
		t.Errorf("%d readings in a minute, known %+v", f.reads, c.constraints.known)
	}
	f.constraints, f.err = loadline.Constraints{}, errors.New("timeout")
	look()
	if c.constraints.known.Quota.Hard[loadline.QuotaPods].Value != 7 || c.constraints.err == nil {
		t.Errorf("after a timeout %+v, error %v: what was known stays", c.constraints.known, c.constraints.err)
	}
	s.now = s.now.Add(time.Minute)
	f.err = apierrors.NewForbidden(schema.GroupResource{Resource: "resourcequotas"}, "", errors.New("no role"))
	look()
	if c.constraints.known.Quota.Limits() {
		t.Errorf("without permission %+v: it is not known", c.constraints.known)
	}
}

func TestAQuotaThatIsShortIsACondition(t *testing.T) {
	s, c := newStage(t)
	short := "the quota team allows pods 7 in all: web has 3 of 5 replicas"
	v := s.tell(t, c, loadline.Plan{}, nil, func(d *loadline.Decision) { d.Proposal.Limited = short })
	status := v.status(s.l, decider{}, nil)
	got := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionLimited)
	if got == nil || got.Status != metav1.ConditionTrue || got.Reason != v1alpha1.ReasonQuota || got.Message != short {
		t.Fatalf("condition %+v", got)
	}
	s.l.Status = status
	status = s.tell(t, c, loadline.Plan{}, nil).status(s.l, decider{}, nil)
	if got := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionLimited); got != nil {
		t.Errorf("condition %+v although nothing is limited", got)
	}
}
