package cluster

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/internal/sim"
)

// constant is a rate of every kind of request.
type constant float64

func (c constant) Rate(int, time.Duration) (float64, time.Duration) { return float64(c), sim.Never }

// TestCostIsFromBindingToDeletion plays requests one by one: a pod that does not serve yet costs
// what it requests, as those do that serve.
func TestCostIsFromBindingToDeletion(t *testing.T) {
	t.Parallel()
	c := Shared(t)
	ns := c.Namespace(t)
	app := shop()
	c.Deploy(t, ns, app)
	p := c.Play(t, PlayerOptions{App: app, Namespace: ns, Requests: constant(40)})
	Eventually(t, "requests", func() error {
		var completed float64
		p.Look(func(m *sim.Meter) { completed = m.Kinds[0].Completed })
		if completed < 20 {
			return fmt.Errorf("%v requests completed", completed)
		}
		return nil
	})
	costs(t, p, 1.5) // three pods

	// A roll-out adds a pod that takes very long to start.
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "back"}}
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{%q:"10h"}}}}}`, StartAnnotation)
	if err := c.client.Patch(t.Context(), d, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "a pod that starts", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, played := range p.pods {
			if played.running && !played.serving {
				return nil
			}
		}
		return fmt.Errorf("none of %d", len(p.pods))
	})
	costs(t, p, 2)
}

// costs fails the test unless pods that request so many cores cost as much over a while. Calls
// take time: the while is between two bounds.
func costs(t *testing.T, p *Player, cores float64) {
	t.Helper()
	before := time.Now()
	from, _ := p.Cost()
	began := time.Now()
	time.Sleep(3 * time.Second)
	ended := time.Now()
	to, _ := p.Cost()
	after := time.Now()
	if low, high := cores*ended.Sub(began).Seconds(), cores*after.Sub(before).Seconds(); to-from < low-1e-6 || to-from > high+1e-6 {
		t.Errorf("%g core-seconds, must be from %g to %g", to-from, low, high)
	}
}
