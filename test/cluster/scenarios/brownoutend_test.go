package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// waitBrownout until ads is at zero, and the LoadLine has what restores it.
func (s *fixture) waitBrownout(t *testing.T) {
	t.Helper()
	s.waitReplicas(t, "ads", 0, 0)
	l := s.get(t)
	if b := l.Status.BrownedOut; len(b) != 1 || b[0].TargetRef.Name != "ads" || b[0].TargetRef.Kind != "Deployment" || b[0].Replicas != 2 {
		t.Fatalf("ads is at zero, and status.brownedOut is %+v", b)
	}
	if !slices.Contains(l.Finalizers, v1alpha1.BrownoutFinalizer) {
		t.Fatalf("ads is at zero, and the finalizers are %q", l.Finalizers)
	}
}

// waitRestored until ads has its replicas and the LoadLine has nothing of the brownout.
func (s *fixture) waitRestored(t *testing.T) {
	t.Helper()
	s.waitReplicas(t, "ads", 2, 2)
	cluster.Eventually(t, "nothing of the brownout is left", func() error {
		var l v1alpha1.LoadLine
		err := s.admin.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: "shop"}, &l)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case len(l.Status.BrownedOut) > 0 || len(l.Finalizers) > 0:
			return fmt.Errorf("%+v, finalizers %q", l.Status.BrownedOut, l.Finalizers)
		case l.DeletionTimestamp != nil:
			return errors.New("it is still being deleted")
		}
		return nil
	})
}

// TestBrownoutsEnd: an optional service at zero is restored when the mode changes, and
// when the LoadLine is deleted while the controller is down. A person's zero stays.
func TestBrownoutsEnd(t *testing.T) {
	t.Parallel()
	s := setUp(t, withAds(t), 20)
	p := s.run(t, cluster.ProductOptions{})
	s.loadLine(t, v1alpha1.Act, adsSpec)
	s.waitCondition(t, "Ready=True", "Stale=False/Fresh")
	s.player.SetRate(130) // more than the one replica of server can take
	s.waitBrownout(t)
	s.loadLine(t, v1alpha1.Recommend, adsSpec)
	s.waitRestored(t)

	s.loadLine(t, v1alpha1.Act, adsSpec)
	s.waitBrownout(t)
	p.Kill()
	if err := s.admin.Delete(t.Context(), s.get(t)); err != nil {
		t.Fatal(err)
	}
	if n := s.replicas(t, "ads"); n != 0 {
		t.Fatalf("%d replicas of ads while the controller is down", n)
	}
	p = s.run(t, cluster.ProductOptions{})
	s.waitRestored(t)

	s.loadLine(t, v1alpha1.Act, adsSpec)
	s.waitBrownout(t)
	p.Kill()
	s.c.Scale(t, s.ns, "ads", 1)
	s.c.Scale(t, s.ns, "ads", 0)
	if err := s.admin.Delete(t.Context(), s.get(t)); err != nil {
		t.Fatal(err)
	}
	s.run(t, cluster.ProductOptions{})
	cluster.Eventually(t, "the LoadLine is gone", func() error {
		err := s.admin.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: "shop"}, &v1alpha1.LoadLine{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("still there: %w", client.IgnoreNotFound(err))
	})
	if n := s.replicas(t, "ads"); n != 0 {
		t.Errorf("%d replicas of ads, which a person has scaled to zero", n)
	}
}

// TestBrownoutsEndByEdits: an optional service at zero is restored when the LoadLine no longer
// names it, when it is no longer optional, and when the guard is disabled.
func TestBrownoutsEndByEdits(t *testing.T) {
	t.Parallel()
	s := setUp(t, withAds(t), 20)
	s.run(t, cluster.ProductOptions{})
	s.loadLine(t, v1alpha1.Act, adsSpec)
	s.waitCondition(t, "Ready=True", "Stale=False/Fresh")
	s.player.SetRate(130)
	ads := "  - {name: ads, targetRef: {name: ads}, optional: {price: \"0.1\"}, bounds: {replicas: {min: 0, max: 5}}}\n"
	for _, edit := range []struct{ name, old, new string }{
		{"the service is removed", ads, ""},
		{"it is no longer optional", "optional: {price: \"0.1\"}, ", ""},
		{"the guard is disabled", "  guard:\n", "  guard:\n    without: [brownout]\n"},
	} {
		t.Log(edit.name)
		s.loadLine(t, v1alpha1.Act, adsSpec)
		s.waitBrownout(t)
		edited := strings.Replace(adsSpec, edit.old, edit.new, 1)
		if edited == adsSpec {
			t.Fatalf("%s: the spec does not have %q", edit.name, edit.old)
		}
		s.loadLine(t, v1alpha1.Act, edited)
		s.waitRestored(t)
	}
}

// TestBrownoutInANamespaceThatIsDeleted: the finalizer does not keep the namespace.
func TestBrownoutInANamespaceThatIsDeleted(t *testing.T) {
	t.Parallel()
	s := setUp(t, withAds(t), 20)
	s.run(t, cluster.ProductOptions{})
	s.loadLine(t, v1alpha1.Act, adsSpec)
	s.waitCondition(t, "Ready=True", "Stale=False/Fresh")
	s.player.SetRate(130)
	s.waitBrownout(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}
	if err := s.admin.Delete(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the LoadLine is gone", func() error {
		err := s.admin.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: "shop"}, &v1alpha1.LoadLine{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("still there: %w", client.IgnoreNotFound(err))
	})
}
