package scenarios

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// TestAnnouncedEvent: the planner raises replicas for an announced event before it begins, while
// the load is as it was.
func TestAnnouncedEvent(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 60)
	s.run(t, cluster.ProductOptions{})
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, "  policy: {baseline: \"planner:period=2s,down-window=10s,lead=5m\"}\n")
	s.waitCondition(t, "Ready=True/Deciding", "Active=True/Acting", "Fallback=False/Following")
	cluster.Eventually(t, "replicas for the usual load, by the planner", func() error {
		if st := s.service(t, name); st.Wanted == nil || st.Wanted.Replicas == nil || *st.Wanted.Replicas != int32(s.replicas(t, name)) {
			return fmt.Errorf("%+v", st)
		}
		return nil
	})
	usual := s.replicas(t, name)

	// It begins minutes later, and is within the planner's lead at once.
	start := time.Now().Add(4 * time.Minute)
	text := fmt.Sprintf("sale=%s/%s*3", start.UTC().Format(time.RFC3339), start.Add(time.Hour).UTC().Format(time.RFC3339))
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.EventsAnnotation, text)
	if err := s.admin.Patch(t.Context(), s.get(t), client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
	s.waitCondition(t, "Announced=True/EventAhead")
	s.waitReplicas(t, name, 2*usual, 12)
	if e := s.get(t).Status.Event; e == nil || e.Name != "sale" {
		t.Errorf("the status has the event %+v", e)
	}
}
