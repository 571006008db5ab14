package scenarios

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/workload"
	"github.com/loadline/loadline/test/cluster"
)

// retrained is the outcome of a retraining, as the command records it.
type retrained struct {
	Verdict                             pipeline.Kind
	Sentence, Promoted, CoreHours, Cost string
}

const (
	retrainedAnnotation = "loadline.dev/retrained"
	beforeAnnotation    = "loadline.dev/before-retraining"
)

// TestRetrain does what the CronJob of deploy/optional/retrain.yaml does: pull, fit, evaluate, and promote
// only if the proof holds. With few runs the answer is open, with more the planner is promoted. A dry run
// changes nothing; the outcome and its cost are in the LoadLine.
func TestRetrain(t *testing.T) {
	if os.Getenv("LOADLINE_NIGHTLY") == "" {
		t.Skip("trains and evaluates twice: LOADLINE_NIGHTLY=1, or .ci/nightly cluster")
	}
	t.Parallel()
	c := cluster.Shared(t)
	c.InstallLoadline(t)
	s := &fixture{c: c, admin: c.Client(t, cluster.Admin), ns: c.Namespace(t), app: shop(t)}
	dir := t.TempDir()
	const day = 24 * time.Hour
	w, err := workload.Parse("diurnal:low=40,high=250,period=6h,peak=3h+noise:cv=0.05", day, time.Minute, 1)
	if err != nil {
		t.Fatal(err)
	}
	s.prom = c.Prometheus(t, cluster.PrometheusOptions{Scrape: 15 * time.Second, Past: s.pastUnder(t, dir, w)})
	c.Deploy(t, s.ns, s.app)
	for _, service := range s.app.Services {
		c.ApplyYAML(t, s.ns, fmt.Sprintf(`apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %[1]s}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}
  minReplicas: 1
  maxReplicas: 20
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 30}}}]
`, service.Name))
	}
	var services []string
	for _, service := range s.app.Services {
		services = append(services, fmt.Sprintf("{name: %[1]s, targetRef: {name: %[1]s}, bounds: {replicas: {min: 1, max: 20}}}", service.Name))
	}
	c.ApplyYAML(t, s.ns, fmt.Sprintf(`apiVersion: loadline.dev/v1alpha1
kind: LoadLine
metadata: {name: shop}
spec:
  mode: Recommend
  objectives: [{latency: 250ms}]
  prometheus: {url: %q}
  policy: {baseline: "hpa:target=30"}
  services: [%s]
`, s.prom.URL, strings.Join(services, ", ")))
	before := s.get(t)
	kubeconfig, err := c.Kubeconfig(cluster.Admin)
	if err != nil {
		t.Fatal(err)
	}
	retrain := func(folder string, more ...string) string {
		return loadlineCommand(t, append([]string{"retrain", "shop", "--namespace", s.ns, "--kubeconfig", kubeconfig, "--until",
			sim.Time(day).Format(time.RFC3339), "--since", "1d", "--step", "1m", "--methods", "planner", "--candidates", "1", "--stretch", "10m",
			"--neighbours", "use=0", "--dir", filepath.Join(dir, folder)}, more...)...)
	}
	retrain("few", "--seeds", "1")
	s.checkRetrained(t, before, pipeline.Undecided)
	retrain("many", "--seeds", "8")
	s.checkRetrained(t, before, pipeline.Promote)
	after := s.get(t)
	said := retrain("many", "--seeds", "8", "--dry-run") // what is finished is not done again
	if l := s.get(t); !strings.Contains(said, "core-hours") || l.ResourceVersion != after.ResourceVersion {
		t.Errorf("a dry run changed the LoadLine, or says nothing of its cost: %s", said)
	}
}

// checkRetrained holds the LoadLine against the outcome that it records.
func (s *fixture) checkRetrained(t *testing.T, before *v1alpha1.LoadLine, want pipeline.Kind) {
	t.Helper()
	l := s.get(t)
	var outcome retrained
	if err := json.Unmarshal([]byte(l.Annotations[retrainedAnnotation]), &outcome); err != nil {
		t.Fatalf("%v: %v", l.Annotations, err)
	}
	t.Logf("%+v", outcome)
	if outcome.Verdict != want {
		t.Errorf("the verdict is %s, want %s", outcome.Verdict, want)
	}
	if outcome.Sentence == "" || outcome.CoreHours == "" || !strings.HasSuffix(outcome.Cost, "USD") || l.Spec.Mode != before.Spec.Mode {
		t.Errorf("%+v", outcome)
	}
	if want != pipeline.Promote {
		if outcome.Promoted != "" || !reflect.DeepEqual(l.Spec, before.Spec) {
			t.Errorf("the verdict is %s, and the LoadLine was changed: %+v", outcome.Verdict, l.Spec)
		}
		return
	}
	var twin corev1.ConfigMap
	if err := s.admin.Get(t.Context(), types.NamespacedName{Namespace: s.ns, Name: "shop-twin"}, &twin); err != nil || twin.Data["twin.yaml"] == "" {
		t.Errorf("the twin: %v", err)
	}
	if reflect.DeepEqual(l.Spec.Policy, before.Spec.Policy) || l.Spec.Twin == nil || l.Annotations[beforeAnnotation] == "" {
		t.Errorf("promoted, and the LoadLine does not follow: %+v", l.Spec)
	}
}
