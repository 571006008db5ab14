package cluster

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
)

// karpenterRun is a sequence with Karpenter, in a cluster of its own.
type karpenterRun struct {
	t     testing.TB
	c     *Cluster
	scene poolScene
	ns    string
	began time.Time
	seen  time.Time // of the last observation
	nodes []string
	last  poolStep // the state at the last observation
	trace poolTrace
	names map[string]bool // of all nodes
}

// runKarpenter applies the sequence: each step begins when the last has settled.
func runKarpenter(t testing.TB, scene poolScene) *poolTrace {
	t.Helper()
	r := &karpenterRun{t: t, c: Start(t, Options{}), scene: scene, names: map[string]bool{}}
	r.c.Karpenter(t, scene.types, "--batch-idle-duration="+batchIdle.String())
	r.ns = r.c.Namespace(t)
	r.prepare()
	r.began = time.Now()
	r.seen = r.began
	for _, replicas := range scene.steps {
		r.trace.Steps = append(r.trace.Steps, poolStep{At: time.Since(r.began).Seconds()})
		for service, n := range replicas {
			r.disruptionBudget(serviceName(service), n)
		}
		for service, n := range replicas {
			r.c.Scale(t, r.ns, serviceName(service), n)
		}
		r.settle(replicas)
	}
	r.trace.Seconds, r.trace.Bought = r.seen.Sub(r.began).Seconds(), len(r.names)
	return &r.trace
}

func serviceName(service int) string { return fmt.Sprintf("service-%d", service) }

// prepare makes the pool, and a Deployment without replicas for each service.
func (r *karpenterRun) prepare() {
	var names []string
	for _, t := range r.scene.types {
		names = append(names, t.Name)
	}
	r.c.ApplyYAML(r.t, "", fmt.Sprintf(`
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
spec: {nodeRegistrationDelay: %v}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [%s]}
        # Otherwise a replacement must be a spot instance, which the types do not offer.
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      expireAfter: Never
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: %v
    budgets: [{nodes: "%.0f%%"}]
`, nodeStart, strings.Join(names, ", "), consolidateAfter, 100*r.scene.budget))
	for i, size := range r.scene.services {
		name := serviceName(i)
		d := Deployment(r.ns, &loadline.Service{Name: name, Size: size, Startup: loadline.Dist{Mean: time.Second}})
		d.Spec.Template.Spec.NodeSelector = map[string]string{"karpenter.sh/nodepool": "default"}
		if r.scene.spread {
			d.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: d.Spec.Selector,
			}}
		}
		if err := r.c.client.Create(r.t.Context(), d); err != nil {
			r.t.Fatal(err)
		}
	}
}

// disruptionBudget applies the PodDisruptionBudget of a service: a tenth of its pods, rounded
// up, may be unavailable.
func (r *karpenterRun) disruptionBudget(service string, replicas int) {
	unavailable := "10%"
	if replicas == 1 && r.scene.keepLast {
		unavailable = "0"
	}
	r.c.ApplyYAML(r.t, r.ns, fmt.Sprintf(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: %s}
spec: {maxUnavailable: %s, selector: {matchLabels: {app: %[1]s}}}
`, service, unavailable))
	// Karpenter goes by the status. Between the old one and the new replicas it could begin to drain a
	// node that the new budget never lets go.
	Eventually(r.t, "the status of the disruption budget of "+service, func() error {
		var b policyv1.PodDisruptionBudget
		if err := r.c.client.Get(r.t.Context(), client.ObjectKey{Namespace: r.ns, Name: service}, &b); err != nil {
			return err
		}
		if b.Status.ObservedGeneration != b.Generation || unavailable == "0" && b.Status.DisruptionsAllowed > 0 {
			return fmt.Errorf("it is of generation %d of %d, and allows %d", b.Status.ObservedGeneration, b.Generation, b.Status.DisruptionsAllowed)
		}
		return nil
	})
}

// settle waits until Karpenter has nothing more to do: the pods are ready, all nodes have
// been without a change for long enough to be consolidated, and Karpenter has then twice
// looked at single nodes, which comes last, and changed nothing.
func (r *karpenterRun) settle(replicas []int) {
	r.t.Helper()
	var nodes []string
	looked := -1
	Eventually(r.t, fmt.Sprintf("Karpenter to settle at %v replicas", replicas), func() error {
		time.Sleep(200 * time.Millisecond) // its metrics are a long text
		if r.c.karpenter.ended() {
			return fatal{fmt.Errorf("Karpenter has ended:\n%s", r.c.karpenter.tail(20))}
		}
		if err := r.observe(); err != nil {
			looked = -1
			return err
		}
		if err := r.podsReady(replicas); err != nil {
			looked = -1
			return err
		}
		now, err := r.evaluations()
		if err != nil {
			return err
		}
		if looked < 0 || !slices.Equal(nodes, r.nodes) {
			looked, nodes = now, slices.Clone(r.nodes)
		}
		if now < looked+2 {
			return fmt.Errorf("%d nodes; %d evaluations since nothing changed", len(nodes), now-looked)
		}
		return nil
	})
}

// observe counts the nodes from their purchase until they are gone. It returns an error if
// some are coming or going, or may not be consolidated yet.
func (r *karpenterRun) observe() (unsettled error) {
	var claims unstructured.UnstructuredList
	claims.SetAPIVersion("karpenter.sh/v1")
	claims.SetKind("NodeClaimList")
	if err := r.c.client.List(r.t.Context(), &claims); err != nil {
		return err
	}
	now := time.Now()
	passed := now.Sub(r.seen).Seconds()
	r.seen = now
	step := &r.trace.Steps[len(r.trace.Steps)-1]
	r.trace.NodeSeconds += passed * float64(r.last.Nodes)
	r.trace.Cost += passed / 3600 * r.last.Hourly
	step.Nodes, step.Most, step.Hourly = len(claims.Items), max(step.Most, len(claims.Items)), 0
	r.nodes = r.nodes[:0]
	for i := range claims.Items {
		claim := &claims.Items[i]
		r.names[claim.GetName()] = true
		r.nodes = append(r.nodes, claim.GetName())
		step.Hourly += r.price(claim.GetLabels()[corev1.LabelInstanceTypeStable])
		if claim.GetDeletionTimestamp() != nil {
			unsettled = fmt.Errorf("node %s is going", claim.GetName())
		} else if !isTrue(claim, "Consolidatable") {
			unsettled = fmt.Errorf("node %s may not be consolidated", claim.GetName())
		}
	}
	slices.Sort(r.nodes)
	r.last = *step
	return unsettled
}

func (r *karpenterRun) price(name string) float64 {
	for _, t := range r.scene.types {
		if t.Name == name {
			return t.Price
		}
	}
	return r.scene.types[0].Price // the label comes with the launch
}

func isTrue(o *unstructured.Unstructured, condition string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == condition {
			return m["status"] == "True"
		}
	}
	return false
}

// podsReady returns an error unless there are exactly the desired pods, all ready.
func (r *karpenterRun) podsReady(replicas []int) error {
	var pods corev1.PodList
	if err := r.c.client.List(r.t.Context(), &pods, client.InNamespace(r.ns)); err != nil {
		return err
	}
	want := 0
	for _, n := range replicas {
		want += n
	}
	ready := 0
	for i := range pods.Items {
		p := &pods.Items[i]
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil {
				ready++
			}
		}
	}
	if len(pods.Items) != want || ready != want {
		return fmt.Errorf("%d pods, %d ready; want %d", len(pods.Items), ready, want)
	}
	return nil
}

// evaluations is how often Karpenter has looked for a single node to consolidate.
func (r *karpenterRun) evaluations() (int, error) {
	const metric = "karpenter_voluntary_disruption_decision_evaluation_duration_seconds_count{"
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+r.c.address("karpenter-metrics")+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := r.c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, metric) && strings.Contains(line, `consolidation_type="single"`) {
			return strconv.Atoi(line[strings.LastIndexByte(line, ' ')+1:])
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("no metric %s with consolidation_type=\"single\"", metric)
}
