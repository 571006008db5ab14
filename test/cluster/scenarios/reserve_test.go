package scenarios

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/resource"
	"github.com/loadline/loadline/test/cluster"
)

// bufferDefinition has the fields of CapacityBuffers that a reserve uses.
const bufferDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: capacitybuffers.autoscaling.x-k8s.io
  annotations: {api-approved.kubernetes.io: "unapproved, for tests"}
spec:
  group: autoscaling.x-k8s.io
  names: {kind: CapacityBuffer, listKind: CapacityBufferList, plural: capacitybuffers, singular: capacitybuffer}
  scope: Namespaced
  versions:
    - name: v1beta1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              required: [podTemplateRef]
              properties:
                provisioningStrategy: {type: string}
                podTemplateRef: {type: object, required: [name], properties: {name: {type: string}}}
                replicas: {type: integer, format: int32, minimum: 0}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

const reserveClass = `
apiVersion: loadline.dev/v1alpha1
kind: LoadLineClass
metadata:
  name: standard
  annotations: {loadline.dev/is-default-class: "true"}
spec:
  prometheus: {url: %q, timeout: 2s}
  reserve: {policy: %s, max: {cpu: 8, memory: 32Gi}}
`

// room is a cluster with a class and two applications of it.
type room struct {
	*fixture
	other *fixture
}

// TestTwoApplicationsShareAReserve: LoadLines without a Prometheus use that of their class;
// what two of them want kept free becomes one reserve of placeholder pods, less than the sum;
// a cluster that gets CapacityBuffers uses them; the reserve goes with the class.
func TestTwoApplicationsShareAReserve(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Options{})
	c.InstallLoadline(t, "optional/reserve.yaml")
	s := room{setUpIn(t, c, c.Namespace(t), single(t), 40), setUpIn(t, c, c.Namespace(t), single(t), 40)}
	p := c.Run(t, cluster.ProductOptions{All: true})
	s.loadLine(t, v1alpha1.Act, "  prometheus: {timeout: 2s}\n")
	s.waitCondition(t, "Ready=False/NoPrometheus")

	s.c.ApplyYAML(t, "", fmt.Sprintf(reserveClass, s.prom.URL, "Auto"))
	s.waitCondition(t, "Ready=True/Deciding", "Active=True/Acting")
	s.other.loadLine(t, v1alpha1.Act, "")
	s.other.waitCondition(t, "Ready=True/Deciding", "Active=True/Acting")

	s.waitReserve(t, "a reserve of five cores in placeholder pods", func(r *v1alpha1.ReserveStatus) bool {
		held := resource.RoomOf(r.Held)
		return r.By == v1alpha1.ReservePlaceholder && r.Wanted.CPU.String() == "5" && held.Cores >= 5 && held.Cores < 7
	})
	if got := metric(t, p, "loadline_reserve_cores"); got < 10 { // wanted and held
		t.Errorf("the metrics add up to %v", got)
	}

	s.c.ApplyYAML(t, "", bufferDefinition)
	s.waitReserve(t, "a CapacityBuffer", func(r *v1alpha1.ReserveStatus) bool { return r.By == v1alpha1.ReserveCapacityBuffer })
	buffer := &unstructured.Unstructured{}
	buffer.SetGroupVersionKind(schema.GroupVersionKind{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Kind: "CapacityBuffer"})
	name := types.NamespacedName{Namespace: "loadline-reserve", Name: "loadline-reserve-standard"}
	cluster.Eventually(t, "its replicas", func() error {
		if err := s.admin.Get(t.Context(), name, buffer); err != nil {
			return err
		}
		if n, _, _ := unstructured.NestedInt64(buffer.Object, "spec", "replicas"); n < 1 {
			return fmt.Errorf("%d replicas", n)
		}
		return nil
	})
	s.gone(t, &appsv1.Deployment{}, name)

	if err := s.admin.Delete(t.Context(), s.class(t)); err != nil {
		t.Fatal(err)
	}
	s.gone(t, buffer, name)
}

// want stores a wish in the status, as a process does that decides for the application.
func (s *fixture) want(t *testing.T, r loadline.Room) {
	t.Helper()
	l := s.get(t)
	changed := l.DeepCopy()
	changed.Status.Reserve = resource.Amount(r)
	if err := s.admin.Status().Patch(t.Context(), changed, client.MergeFrom(l)); err != nil {
		t.Fatal(err)
	}
}

func (s *room) class(t *testing.T) *v1alpha1.LoadLineClass {
	t.Helper()
	var class v1alpha1.LoadLineClass
	if err := s.admin.Get(t.Context(), types.NamespacedName{Name: "standard"}, &class); err != nil {
		t.Fatal(err)
	}
	return &class
}

func (s *room) waitReserve(t *testing.T, what string, is func(*v1alpha1.ReserveStatus) bool) {
	t.Helper()
	cluster.Eventually(t, what, func() error {
		// What the policies want is written here, so that the reserve can be computed. The controller
		// removes it whenever it writes the status itself.
		s.fixture.want(t, loadline.Room{Cores: 3, Memory: 1 << 30})
		s.other.want(t, loadline.Room{Cores: 4, Memory: 1 << 30})
		class := s.class(t)
		r := class.Status.Reserve
		if r == nil || r.Held == nil || !is(r) {
			return fmt.Errorf("%+v; %+v", r, meta.FindStatusCondition(class.Status.Conditions, v1alpha1.ConditionReserveHeld))
		}
		return nil
	})
}

func (s *room) gone(t *testing.T, o client.Object, name types.NamespacedName) {
	t.Helper()
	cluster.Eventually(t, fmt.Sprintf("%T to be deleted", o), func() error {
		if err := s.admin.Get(t.Context(), name, o); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there (%v)", err)
		}
		return nil
	})
}
