package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// label sets or, with an empty value, removes a label of a Deployment.
func (s *fixture) label(t *testing.T, name, key, value string) {
	t.Helper()
	text := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value)
	if value == "" {
		text = fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, key)
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name}}
	if err := s.admin.Patch(t.Context(), d, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
		t.Fatal(err)
	}
}

// selects waits until the status has exactly these services.
func (s *fixture) selects(t *testing.T, names ...string) {
	t.Helper()
	cluster.Eventually(t, "the services "+strings.Join(names, ", "), func() error {
		var has []string
		for _, st := range s.get(t).Status.Services {
			has = append(has, st.Name)
		}
		slices.Sort(has)
		slices.Sort(names)
		if !slices.Equal(has, names) {
			return fmt.Errorf("the status has %q", has)
		}
		return nil
	})
}

// TestSelector: a workload is scaled because of its label, another one joins when it gets the label and
// leaves when it loses it, and the spec stays as it was written.
func TestSelector(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 40)
	name := s.app.Services[0].Name
	s.label(t, name, "team", "shop")
	s.c.ApplyYAML(t, s.ns, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: extra}
spec:
  replicas: 0
  selector: {matchLabels: {app: extra}}
  template:
    metadata: {labels: {app: extra}}
    spec: {containers: [{name: app, image: app}]}
`)
	s.run(t, cluster.ProductOptions{})
	s.loadLine(t, v1alpha1.Act, `  services: []
  selector: {matchLabels: {team: shop}}
  template: {bounds: {replicas: {min: 1, max: 12}}}
`)
	s.waitCondition(t, "Ready=True/Deciding", "Active=True/Acting", "Selected=True/Found")
	s.selects(t, name)
	low := s.replicas(t, name)
	s.player.SetRate(160)
	s.waitReplicas(t, name, low+2, 12)

	s.label(t, "extra", "team", "shop")
	s.selects(t, name, "extra")
	s.label(t, "extra", "team", "")
	s.selects(t, name)
	s.waitCondition(t, "Ready=True/Deciding", "Active=True/Acting", "Selected=True/Found")
	if l := s.get(t); len(l.Spec.Services) != 0 || l.Generation != 1 {
		t.Errorf("the spec was written: generation %d, services %+v", l.Generation, l.Spec.Services)
	}
}
