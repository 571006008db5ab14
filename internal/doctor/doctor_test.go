package doctor

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline/api/v1alpha1"
)

// In a complete cluster nothing is found.
func TestHealthy(t *testing.T) {
	p := healthy(t)
	// Metrics that no preset has are reported for any cluster.
	r := p.examine()
	for _, f := range r.Findings {
		if f.State != OK && !(f.State == Note && f.Check == "metrics" &&
			(strings.Contains(f.Found, "queue") || strings.Contains(f.Found, "busy"))) {
			t.Errorf("%+v", f)
		}
	}
	if r.Version != "v1.36.0" || !r.Reachable || r.Count(OK) < 15 {
		t.Errorf("%d ok of %+v", r.Count(OK), r)
	}
}

// want is what is to be found; empty fields may be anything.
type want struct {
	state       State
	check       string
	service     string
	found, does string // parts of the sentences
}

func (w want) in(r *Report) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.State == w.state && f.Check == w.check && f.Service == w.service && strings.Contains(f.Found, w.found) &&
			strings.Contains(f.Do, w.does)
	})
}

// Every row breaks a healthy cluster in one way.
func TestFindings(t *testing.T) {
	for name, row := range map[string]struct {
		spoil func(*patient)
		want  want
	}{
		"the API server does not answer": {func(p *patient) { p.down = errors.New("connection refused") },
			want{Fault, "api-server", "", "connection refused", "kubectl version"}},

		// The cluster.
		"no resize and vertical axes": {func(p *patient) { p.resources["v1"] = p.resources["v1"][:1] },
			want{Fault, "in-place-resize", "", "cannot be resized", "1.33"}},
		"no resize and no service needs it": {func(p *patient) {
			p.resources["v1"] = p.resources["v1"][:1]
			p.service(0, func(s map[string]any) { s["axes"], s["resize"] = []any{"Horizontal"}, "InPlaceOnly" })
		}, want{Note, "in-place-resize", "", "only replicas", ""}},
		"the axes of a cluster that can resize": {func(*patient) {}, want{OK, "axes", "", "Horizontal, VerticalRequests and VerticalLimits", ""}},
		"the axes of a cluster that cannot": {func(p *patient) { p.resources["v1"] = p.resources["v1"][:1] },
			want{OK, "axes", "", "the axis Horizontal. VerticalRequests and VerticalLimits need", ""}},
		"an HPA that is inert is no conflict": {func(p *patient) {
			p.add(inertHPA)
		}, want{OK, "conflict", "web", "No other controller scales Deployment web", ""}},
		"resize before it was beta": {func(p *patient) { p.minor = "32+" },
			want{Note, "in-place-resize", "", "alpha", ""}},
		"an old kubelet": {func(p *patient) { p.change("Node", "node-1", "v1.31.4", "status", "nodeInfo", "kubeletVersion") },
			want{Warning, "nodes", "", "1 of 1 node cannot", "kubelets"}},
		"nodes may not be listed": {func(p *patient) { p.forbidden = []string{"Node"} },
			want{Note, "nodes", "", "could not be read", "list on nodes"}},
		"an HPA's tolerance before 1.35": {func(p *patient) { p.minor = "34" },
			want{Note, "hpa-tolerance", "", "before 1.35", "overshoot"}},
		"no metrics API": {func(p *patient) { delete(p.resources, "metrics.k8s.io/v1beta1") },
			want{Note, "resource-metrics", "", "Loadline does not", "metrics-server"}},
		"no KEDA and it is needed": {func(p *patient) { delete(p.resources, "keda.sh/v1alpha1") },
			want{Fault, "keda", "", "not installed", "movedBy: Scale"}},
		"no KEDA and no service needs it": {func(p *patient) {
			delete(p.resources, "keda.sh/v1alpha1")
			p.service(1, func(s map[string]any) { s["movedBy"] = "Scale" })
		}, want{Note, "keda", "", "not installed", ""}},
		"a KEDA that drops the tolerance": {func(p *patient) {
			p.change("CustomResourceDefinition", "scaledobjects.keda.sh", []any{map[string]any{"name": "v1alpha1"}}, "spec", "versions")
		}, want{Warning, "keda", "", "KEDA 2.21.0 drops", "overshoot"}},

		// The installation.
		"nothing is installed": {func(p *patient) {
			delete(p.resources, "loadline.dev/v1alpha1")
			p.remove("CustomResourceDefinition", crdName)
			p.remove("Deployment", "loadline")
		}, want{Note, "controller", "", "not installed", "kubectl apply --server-side -k deploy"}},
		"nothing is installed, and the user may not install": {func(p *patient) {
			delete(p.resources, "loadline.dev/v1alpha1")
			p.remove("CustomResourceDefinition", crdName)
			p.remove("Deployment", "loadline")
			p.denied["create clusterroles.rbac.authorization.k8s.io"] = true
		}, want{Warning, "may-install", "", "may not create clusterroles", ""}},
		"a controller without its resource": {func(p *patient) {
			delete(p.resources, "loadline.dev/v1alpha1")
			p.remove("CustomResourceDefinition", crdName)
		}, want{Fault, "crd", "", "definition of its resource is not", "kubectl apply"}},
		"a definition that is not served": {func(p *patient) {
			version := versionOf(p.find("CustomResourceDefinition", crdName).Object, "v1alpha1")
			version["served"] = false
		}, want{Fault, "crd", "", "does not serve loadline.dev/v1alpha1", "kubectl apply"}},
		"a definition that is not in force": {func(p *patient) { p.change("CustomResourceDefinition", crdName, nil, "status") },
			want{Fault, "crd", "", "not in force", "describe crd"}},
		"an older definition": {func(p *patient) {
			schema := schemaOf(versionOf(p.find("CustomResourceDefinition", crdName).Object, "v1alpha1"))
			delete(schema["properties"].(map[string]any)["spec"].(map[string]any)["properties"].(map[string]any), "twin")
		}, want{Warning, "crd", "", "older than this command: it lacks spec.twin", "kubectl apply"}},
		"a newer definition": {func(p *patient) {
			schema := schemaOf(versionOf(p.find("CustomResourceDefinition", crdName).Object, "v1alpha1"))
			schema["properties"].(map[string]any)["spec"].(map[string]any)["properties"].(map[string]any)["mood"] = map[string]any{"type": "string"}
		}, want{Warning, "crd", "", "newer than this command: it has spec.mood", "newer loadline"}},
		"a definition with another description": {func(p *patient) {
			schemaOf(versionOf(p.find("CustomResourceDefinition", crdName).Object, "v1alpha1"))["description"] = "something else"
		}, want{Note, "crd", "", "other rules, defaults or descriptions", ""}},
		"no controller": {func(p *patient) { p.remove("Deployment", "loadline") },
			want{Fault, "controller", "", "no controller watches LoadLines", "--install-namespace"}},
		"a controller that is not ready": {func(p *patient) {
			p.change("Deployment", "loadline", int64(0), "status", "readyReplicas")
			p.add("apiVersion: v1\nkind: Pod\nmetadata: {name: loadline-1, namespace: loadline-system, labels: {app: " +
				"loadline}}\nstatus: {containerStatuses: [{name: loadline, ready: false, restartCount: 0, image: x, imageID: x, " +
				"state: {waiting: {reason: ImagePullBackOff, message: no such image}}}]}")
		}, want{Fault, "controller", "", "ImagePullBackOff no such image", "logs"}},
		"a controller with one replica of two": {func(p *patient) {
			p.change("Deployment", "loadline", int64(1), "status",
				"readyReplicas")
		},
			want{Warning, "controller", "", "1 ready replicas of 2", "logs"}},
		"a controller at zero": {func(p *patient) { p.change("Deployment", "loadline", int64(0), "spec", "replicas") },
			want{Fault, "controller", "", "scaled to zero", "scale deployment loadline"}},
		"the lease is missing": {func(p *patient) { p.remove("Lease", "loadline.dev") },
			want{Fault, "lease", "", "no controller is active", "logs"}},
		"a lease that ran out": {func(p *patient) {
			p.change("Lease", "loadline.dev", "2026-03-01T11:50:00.000000Z", "spec", "renewTime")
		}, want{Fault, "lease", "", "last renewed 10m ago by loadline-1", "logs"}},
		"no admission policies in this cluster": {func(p *patient) { delete(p.resources, "admissionregistration.k8s.io/v1") },
			want{Note, "admission-policy", "", "right after they are created", ""}},
		"no policy": {func(p *patient) { p.remove("MutatingAdmissionPolicy", "loadline-pod-size") },
			want{Note, "admission-policy", "", "not installed", "kubectl apply -f deploy/admission"}},
		"a policy without a binding": {func(p *patient) { p.remove("MutatingAdmissionPolicyBinding", "loadline-pod-size") },
			want{Warning, "admission-policy", "", "no binding", "kubectl apply"}},
		"LoadLines may not be listed": {func(p *patient) { p.forbidden = []string{"LoadLine"} },
			want{Warning, "loadlines", "", "you may not read that", "loadline doctor NAMESPACE/NAME"}},
		"a LoadLine that is not there": {func(p *patient) {
			p.options.LoadLines = []types.NamespacedName{{Namespace: "shop",
				Name: "mian"}}
		},
			want{Fault, "loadlines", "", "no LoadLine shop/mian", "kubectl get loadlines -n shop"}},

		// Permissions.
		"one verb is missing": {func(p *patient) { p.denied["patch pods/resize"] = true },
			want{Fault, "rbac", "", "may not patch pods/resize", "kubectl apply -f deploy/rbac/cluster-role.yaml"}},
		"a role is not applied": {func(p *patient) { p.denied["everything"] = true },
			want{Fault, "rbac", "", "may do nothing of what deploy/rbac/leader-election.yaml gives",
				"kubectl apply -f deploy/rbac/leader-election.yaml"}},
		"a lease that may not be renewed": {func(p *patient) {
			p.denied["update leases.coordination.k8s.io loadline.dev in "+
				"loadline-system"] = true
		},
			want{Fault, "rbac", "", "may not update leases.coordination.k8s.io loadline.dev in loadline-system", "leader-election.yaml"}},
		"a KEDA whose version only its operator tells": {func(p *patient) {
			p.change("CustomResourceDefinition", "scaledobjects.keda.sh", nil, "metadata", "labels")
			p.add("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: keda-operator, namespace: keda, labels: {app: " +
				"keda-operator}}\nspec: {selector: {}, template: {spec: {containers: [{name: o, image: " +
				"\"example.com:5000/keda:2.20.1\"}]}}}")
		}, want{OK, "keda", "", "KEDA 2.20.1 is installed", ""}},
		"evictions are allowed by the LoadLine only": {func(p *patient) { p.denied["create pods/eviction"] = true },
			want{Fault, "rbac", "", "nothing of what deploy/rbac/optional-recreate.yaml",
				"kubectl apply -f deploy/rbac/optional-recreate.yaml"}},
		"a Rollout": {func(p *patient) {
			p.service(0, func(s map[string]any) {
				s["targetRef"] = map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web"}
			})
			p.denied["patch rollouts.argoproj.io/scale"] = true
		}, want{Fault, "rbac", "", "may not patch rollouts.argoproj.io/scale", "deploy/rbac/optional-rollouts.yaml"}},
		"another kind with a scale subresource": {func(p *patient) {
			p.resources["example.com/v1"] = []metav1.APIResource{{Name: "fleets", Kind: "Fleet"}, {Name: "fleets/scale", Kind: "Scale"}}
			p.service(0, func(s map[string]any) {
				s["targetRef"] = map[string]any{"apiVersion": "example.com/v1", "kind": "Fleet", "name": "web"}
			})
			p.denied["patch fleets.example.com/scale"] = true
			p.forbidden = []string{"Fleet"}
		}, want{Fault, "rbac", "", "may not patch fleets.example.com/scale", "put example.com and fleets in it"}},
		"a Secret that may not be read": {func(p *patient) {
			p.change("LoadLine", "main", map[string]any{"name": "token", "key": "t"}, "spec", "prometheus", "bearerToken")
			p.denied["get secrets token in shop"] = true
		}, want{Fault, "rbac", "", "may not get secrets token in shop", "-n shop"}},
		"reviews are not allowed": {func(p *patient) { p.noReviews = true },
			want{Note, "rbac", "", "what you may do yourself", "subjectaccessreviews"}},

		// Namespaces.
		"no Role in one of two namespaces": {func(p *patient) {
			p.restrict("--namespaces=shop,orders")
			p.denied["list pods in orders"], p.denied["patch pods/resize in orders"] = true, true
		}, want{Fault, "rbac", "", "may not list pods in orders, which deploy/rbac/cluster-role.yaml",
			"orders among namespaces in the chart's values"}},
		"evictions are not allowed in a namespace": {func(p *patient) {
			p.restrict("--namespaces", "shop")
			p.denied["create pods/eviction in shop"] = true
		}, want{Fault, "rbac", "", "nothing of what deploy/rbac/optional-recreate.yaml gives in shop",
			"shop among namespaces and recreate: true"}},
		"another kind, in a namespace": {func(p *patient) {
			p.restrict("--namespaces=shop")
			p.resources["example.com/v1"] = []metav1.APIResource{{Name: "fleets", Kind: "Fleet"}, {Name: "fleets/scale", Kind: "Scale"}}
			p.service(0, func(s map[string]any) {
				s["targetRef"] = map[string]any{"apiVersion": "example.com/v1", "kind": "Fleet", "name": "web"}
			})
			p.denied["patch fleets.example.com/scale in shop"] = true
			p.forbidden = []string{"Fleet"}
		}, want{Fault, "rbac", "", "may not patch fleets.example.com/scale in shop", "otherTargets"}},
		"a ClusterRole is missing, and no namespaces are named": {func(p *patient) { p.restrict() },
			want{Fault, "rbac", "", "nothing of what deploy/rbac/cluster-role.yaml gives.",
				"kubectl apply -f deploy/rbac/cluster-role.yaml"}},
		"a LoadLine in a namespace that is not watched": {func(p *patient) {
			p.restrict("--namespaces=orders",
				"--namespaces=$(POD_NAMESPACE)")
		},
			want{Fault, "namespaces", "", "does not watch the namespace shop, only loadline-system, orders",
				"add shop to namespaces in the chart's values and helm upgrade"}},

		// The application.
		"the controller has not seen it": {func(p *patient) { p.change("LoadLine", "main", nil, "status") },
			want{Warning, "conditions", "", "has not processed it", "log"}},
		"a change that was not taken up": {func(p *patient) { p.change("LoadLine", "main", int64(4), "metadata", "generation") },
			want{Warning, "conditions", "", "generation 3 of 4", "log"}},
		"no decision for long": {func(p *patient) {
			p.change("LoadLine", "main", "2026-03-01T11:00:00Z", "status", "lastDecisionTime")
		}, want{Warning, "conditions", "", "made 1h ago", "log"}},
		"not ready": {func(p *patient) { p.bad("Ready", "False", v1alpha1.ReasonNoPresetFits) },
			want{Fault, "conditions", "", "Ready has been False for 1h (NoPresetFits): as the controller says", "spec.prometheus.preset"}},
		"fallen back": {func(p *patient) { p.bad("Fallback", "True", v1alpha1.ReasonBurned) },
			want{Warning, "conditions", "", "(Burned)", "loadline explain shop/main"}},
		"a conflict where it acts": {func(p *patient) { p.bad("Conflict", "True", v1alpha1.ReasonOtherLoadLine) },
			want{Fault, "conditions", "", "OtherLoadLine", "one of the two"}},
		"a conflict where it recommends": {func(p *patient) {
			p.change("LoadLine", "main", "Recommend", "spec", "mode")
			p.bad("Conflict", "True", v1alpha1.ReasonHorizontalPodAutoscaler)
		}, want{Note, "conditions", "", "HorizontalPodAutoscaler", "delete"}},
		"a spec that cannot be followed": {func(p *patient) { p.change("LoadLine", "main", "hpa:targt=50", "spec", "policy", "baseline") },
			want{Fault, "spec", "", "targt", "edit loadline main"}},
		"a ConfigMap that is not there": {func(p *patient) {
			p.change("LoadLine", "main", map[string]any{"name": "twin", "key": "twin.yaml"}, "spec", "twin")
		}, want{Fault, "sources", "", "no ConfigMap twin (spec.twin)", "kubectl -n shop"}},
		"a ConfigMap without the key": {func(p *patient) {
			p.change("LoadLine", "main", map[string]any{"name": "twin", "key": "twin.yaml"}, "spec", "twin")
			p.add("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: twin, namespace: shop}\ndata: {other.yaml: x}")
		}, want{Fault, "sources", "", `no key "twin.yaml" under data or binaryData (it has: other.yaml)`, "edit configmap twin"}},
		"a model that is text": {func(p *patient) {
			p.change("LoadLine", "main", map[string]any{"model": map[string]any{"configMap": map[string]any{"name": "m"}}}, "spec",
				"policy")
			p.add("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: shop}\ndata: {model.safetensors: x}")
		}, want{Fault, "sources", "", "under binaryData", ""}},
		"a Secret that is not there": {func(p *patient) {
			p.change("LoadLine", "main", map[string]any{"name": "token", "key": "t"}, "spec", "prometheus", "bearerToken")
		}, want{Fault, "sources", "", "no Secret token", ""}},
		"a model in a folder": {func(p *patient) {
			p.change("LoadLine", "main", map[string]any{"model": map[string]any{"folder": "registry"}}, "spec", "policy")
		}, want{Note, "model", "", `model in the registry "registry" can only be seen by the controller`, ".status.policy"}},
		"a claim that is not mounted": {func(p *patient) {
			p.change("LoadLine", "main", map[string]any{"model": map[string]any{"claim": map[string]any{"name": "other"}}}, "spec",
				"policy")
			p.add("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: other, namespace: loadline-system}")
		}, want{Fault, "model", "", "have not mounted the PersistentVolumeClaim other", ""}},
		"a claim that is not there": {func(p *patient) {
			p.change("LoadLine", "main", map[string]any{"model": map[string]any{"claim": map[string]any{"name": "other"}}}, "spec",
				"policy")
		}, want{Fault, "model", "", "no PersistentVolumeClaim loadline-system/other", ""}},

		// Metrics.
		"a Prometheus that is no Service": {func(p *patient) {
			p.change("LoadLine", "main", "http://prometheus.monitring.svc:9090", "spec", "prometheus", "url")
		}, want{Fault, "prometheus", "", "monitring/prometheus, which does not exist", "kubectl get services"}},
		"a Service without the port": {func(p *patient) {
			p.change("LoadLine", "main", "http://prometheus.monitoring:9091", "spec", "prometheus", "url")
		}, want{Fault, "prometheus", "", "no port 9091 (it has: 9090)", "correct the port"}},
		"a Prometheus in the controller's own pod": {func(p *patient) {
			p.change("LoadLine", "main", "http://localhost:9090", "spec", "prometheus", "url")
		}, want{Warning, "prometheus", "", "the controller's own pod", "Service"}},
		"a Prometheus that is not reachable from here": {func(p *patient) { p.series.down = true },
			want{Note, "prometheus", "", "says little about the controller: query vector(1): http://127.0.0.1",
				"kubectl -n monitoring port-forward svc/prometheus 9090:9090"}},
		"a Prometheus that was given and does not answer": {func(p *patient) {
			p.options.Prometheus = (&series{down: true}).client(p.t)
		}, want{Fault, "prometheus", "", "answers 503 (server error: 503: no endpoints)", "--prometheus"}},
		"a Prometheus with a password": {func(p *patient) {
			p.change("LoadLine", "main", map[string]any{"name": "token"}, "spec", "prometheus", "basicAuth")
		}, want{Note, "prometheus", "", "needs the Secret token, which is not read here", "--user"}},
		"no preset fits": {func(p *patient) { p.series.fits = "" },
			want{Fault, "preset", "", "namespace shop has metrics between 2026-03-01T11:50:00Z and 2026-03-01T12:00:00Z, but not " +
				"those of the presets", "loadline history presets"}},
		"a namespace that is misspelt": {func(p *patient) {
			p.series.fits = ""
			p.change("LoadLine", "main", "shpo", "spec", "prometheus", "namespace")
		}, want{Fault, "preset", "", `the server knows no namespace "shpo"`, "spec.prometheus.namespace"}},
		"data that is old": {func(p *patient) { p.series.age = 4 * time.Minute },
			want{Fault, "freshness", "", "newest sample is 4m old", "targets"}},
		"a metric that is old": {func(p *patient) { p.series.age = 4 * time.Minute },
			want{Fault, "metrics", "", "service rate is stale: the newest sample is of 2026-03-01T11:56:00Z, older than " +
				"guard.data.maxAge (2m0s)",
				"targets"}},
		"no data at all": {func(p *patient) { p.series.age = 7 * time.Minute },
			want{Fault, "freshness", "", "no sample within the window", "targets"}},
		"seldom scraped": {func(p *patient) { p.series.every = 2 * time.Minute },
			want{Warning, "freshness", "", "every 2m0s", "guard.data.maxAge"}},
		"scraped every minute": {func(p *patient) { p.series.every = time.Minute },
			want{Note, "freshness", "", "every 1m0s", "15s"}},
		"no cAdvisor": {func(p *patient) { p.series.absent["container_"] = true },
			want{Warning, "metrics", "", "service cpu is absent: the query has no result: cAdvisor is not scraped", ""}},
		"no latency": {func(p *patient) { p.series.absent["_bucket"] = true },
			want{Warning, "seen", "", "kind over_slo of all requests is absent", ""}},
		"a twin that is no application": {func(p *patient) {
			p.change("LoadLine", "main", map[string]any{"name": "twin", "key": "app.yaml"}, "spec", "twin")
			p.add("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: twin, namespace: shop}\ndata: {app.yaml: \"services: 7\"}")
		}, want{Fault, "spec", "", "The resource cannot be followed: spec.twin: ", "kubectl -n shop edit loadline main"}},
		"a twin that may not be read": {func(p *patient) {
			p.change("LoadLine", "main", map[string]any{"name": "twin", "key": "app.yaml"}, "spec", "twin")
			p.forbidden = []string{"ConfigMap"}
		}, want{OK, "metrics", "", "8 of 9 metrics of services are there", ""}},
		"no kube-state-metrics": {func(p *patient) { p.series.absent["kube_"] = true },
			want{Note, "kube-state-metrics", "", "Nothing of kube-state-metrics", ""}},
		"a service with another name in the metrics": {func(p *patient) { p.series.names = []string{"web", "carts"} },
			want{Fault, "seen", "cart", `service rate of cart is absent: the query has results for others; do the ` +
				`metrics call cart "carts"?`, "targetRef.name"}},
		"no LoadLine, and a Prometheus in sight": {func(p *patient) { p.remove("LoadLine", "main") },
			want{Note, "prometheus", "", "may be a Prometheus: monitoring/prometheus", "port-forward"}},

		// Services.
		"no workload": {func(p *patient) {
			p.service(0, func(s map[string]any) { s["targetRef"].(map[string]any)["name"] = "wbe" })
		}, want{Fault, "target", "web", `no Deployment wbe in the namespace shop (did you mean "web"?)`,
			"kubectl -n shop get deployments"}},
		"an unknown kind": {func(p *patient) {
			p.service(0, func(s map[string]any) { s["targetRef"].(map[string]any)["kind"] = "Deploy" })
		}, want{Fault, "target", "web", "has no kind Deploy in apps/v1", "api-resources"}},
		"a kind that does not scale": {func(p *patient) {
			p.service(0, func(s map[string]any) { s["targetRef"].(map[string]any)["kind"] = "DaemonSet" })
		}, want{Fault, "target", "web", "no scale subresource", ""}},
		"a workload that is paused": {func(p *patient) {
			p.change("Deployment", "web", "true", "metadata", "annotations", "loadline.dev/paused")
		}, want{Note, "target", "web", "paused by its annotation", "loadline.dev/paused-"}},
		"an unknown container": {func(p *patient) { p.service(0, func(s map[string]any) { s["container"] = "ap" }) },
			want{Fault, "container", "web", `no container "ap" (did you mean "app"?)`, ""}},
		"a default container that is not there": {func(p *patient) {
			p.change("Deployment", "web", map[string]any{"kubectl.kubernetes.io/default-container": "gone"}, "spec", "template",
				"metadata", "annotations")
		}, want{OK, "target", "web", "container app", ""}},
		"limits alone, and one axis": {func(p *patient) {
			p.container("web", func(c map[string]any) {
				c["resources"] = map[string]any{"limits": map[string]any{"cpu": "1", "memory": "1Gi"}}
			})
			p.remove("Pod", "web-1")
			p.service(0, func(s map[string]any) { s["axes"] = []any{"Horizontal", "VerticalRequests"} })
		}, want{Fault, "resize", "web", "Guaranteed", "VerticalLimits"}},
		"no CPU request": {func(p *patient) {
			p.container("cart", func(c map[string]any) { delete(c, "resources") })
		}, want{Warning, "requests", "cart", "no CPU request", "resources.requests.cpu"}},
		"best effort": {func(p *patient) {
			p.container("web", func(c map[string]any) { delete(c, "resources") })
		}, want{Fault, "resize", "web", "best effort", "resources.requests"}},
		"Guaranteed and one axis": {func(p *patient) {
			p.container("web", func(c map[string]any) {
				c["resources"] = map[string]any{"limits": map[string]any{"cpu": "1", "memory": "1Gi"},
					"requests": map[string]any{"cpu": "1", "memory": "1Gi"}}
			})
			p.service(0, func(s map[string]any) { s["axes"] = []any{"Horizontal", "VerticalRequests"} })
		}, want{Fault, "resize", "web", "Guaranteed", "VerticalLimits"}},
		"bounds up to the limits": {func(p *patient) {
			p.container("web", func(c map[string]any) {
				c["resources"] = map[string]any{"limits": map[string]any{"cpu": "1", "memory": "1Gi"},
					"requests": map[string]any{"cpu": "500m", "memory": "1Gi"}}
			})
			p.service(0, func(s map[string]any) { s["axes"] = []any{"Horizontal", "VerticalRequests"} })
		}, want{Warning, "resize", "web", "would become Guaranteed", "lower the upper bounds"}},
		"a limit that is to be moved and is not there": {func(p *patient) {
			p.container("web", func(c map[string]any) {
				delete(c["resources"].(map[string]any)["limits"].(map[string]any), "cpu")
			})
		}, want{Note, "resize", "web", "has no cpu limit", "template"}},
		"a container that restarts": {func(p *patient) {
			p.container("web", func(c map[string]any) {
				c["resizePolicy"] = []any{map[string]any{"resourceName": "cpu", "restartPolicy": "RestartContainer"}}
			})
		}, want{Warning, "resize", "web", "asks to be restarted", "NotRequired"}},
		"a resize that is infeasible": {func(p *patient) {
			p.change("Pod", "web-1", []any{map[string]any{"type": "PodResizePending", "status": "True", "reason": "Infeasible",
				"message": "node has 2"}}, "status", "conditions")
		}, want{Warning, "resize", "web", "can never be resized where they are (web-1): node has 2", "upper bounds"}},
		"a resize that is deferred": {func(p *patient) {
			p.change("Pod", "web-1", []any{map[string]any{"type": "PodResizePending", "status": "True", "reason": "Deferred",
				"message": "full"}}, "status", "conditions")
		}, want{Note, "resize", "web", "wait to be resized", ""}},
		"evictions without a budget": {func(p *patient) { p.remove("PodDisruptionBudget", "web") },
			want{Warning, "disruption-budget", "web", "no PodDisruptionBudget", "--selector=app=web"}},
		"a budget that allows nothing": {func(p *patient) {
			p.change("PodDisruptionBudget", "web", int64(0), "status",
				"disruptionsAllowed")
		},
			want{Warning, "disruption-budget", "web", "allows no eviction", "describe pdb web"}},

		// What the namespace allows.
		"bounds above a container's maximum": {func(p *patient) { p.limits("{type: Container, max: {cpu: 1500m}}") },
			want{Warning, "limit-range", "web",
				"LimitRange small allows at most 1500m cpu per container (max), and bounds.cpu.max allows a limit of 2",
				"narrow spec.services[web].bounds.cpu"}},
		"requests above a container's maximum": {func(p *patient) {
			p.limits("{type: Container, max: {cpu: 1500m}}")
			p.service(0, func(s map[string]any) { s["axes"] = []any{"Horizontal", "VerticalRequests"} })
			p.container("web", func(c map[string]any) {
				c["resources"] = map[string]any{"requests": map[string]any{"cpu": "1"}, "limits": map[string]any{"cpu": "3"}}
			})
		}, want{Warning, "limit-range", "web", "the limit is 3", "resources in the template of Deployment web"}},
		"bounds below a container's minimum": {func(p *patient) { p.limits("{type: Container, min: {cpu: 200m}}") },
			want{Warning, "limit-range", "web", "at least 200m cpu per container (min), and bounds.cpu.min allows a limit of 100m",
				"kubectl -n shop edit limitrange small"}},
		"requests below a container's minimum": {func(p *patient) {
			p.limits("{type: Container, min: {cpu: 200m}}")
			p.service(0, func(s map[string]any) { s["axes"] = []any{"Horizontal", "VerticalRequests"} })
		}, want{Warning, "limit-range", "web", "bounds.cpu.min allows a request of 100m", "bounds.cpu"}},
		"bounds of memory": {func(p *patient) {
			p.limits("{type: Container, max: {memory: 256Mi}}")
			p.service(0, func(s map[string]any) {
				s["bounds"].(map[string]any)["memory"] = map[string]any{"min": "64Mi", "max": "1Gi"}
			})
		}, want{Warning, "limit-range", "web", "at most 256Mi memory per container (max), and bounds.memory.max allows a limit of 1Gi",
			"bounds.memory"}},
		"bounds too far apart": {func(p *patient) { p.limits("{type: Container, maxLimitRequestRatio: {cpu: 4}}") },
			want{Warning, "limit-range", "web",
				"at most 4 times the request, of cpu per container (maxLimitRequestRatio), and bounds.cpu.max allows a limit of 2 " +
					"while bounds.cpu.min allows a request of 100m", "bounds.cpu"}},
		"requests too far from limits that stay": {func(p *patient) {
			p.limits("{type: Container, maxLimitRequestRatio: {cpu: 4}}")
			p.service(0, func(s map[string]any) { s["axes"] = []any{"Horizontal", "VerticalRequests"} })
		}, want{Warning, "limit-range", "web", "the limit is 1 while bounds.cpu.min allows a request of 100m", "bounds.cpu"}},
		"a pod's maximum beside a sidecar": {func(p *patient) {
			p.limits("{type: Pod, max: {cpu: 2500m}}")
			p.change("Pod", "web-1", []any{map[string]any{"name": "proxy", "restartPolicy": "Always",
				"resources": map[string]any{"requests": map[string]any{"cpu": "100m"}, "limits": map[string]any{"cpu": "600m"}}}},
				"spec", "initContainers")
		}, want{Warning, "limit-range", "web", "at most 2500m cpu per pod (max), and bounds.cpu.max allows a total limit of 2600m",
			"bounds.cpu"}},
		"a pod without a limit": {func(p *patient) { p.limits("{type: Pod, max: {memory: 1Gi}}") },
			want{Warning, "limit-range", "cart", "at most 1Gi memory per pod (max), and there is no limit",
				"template of Deployment cart"}},
		"replicas that could not be created": {func(p *patient) { p.limits("{type: Container, min: {cpu: 600m}}") },
			want{Warning, "limit-range", "cart", "and the request is 500m", "template of Deployment cart"}},
		"a service that fits": {func(p *patient) {
			p.limits("{type: Container, min: {cpu: 100m}, max: {cpu: 2, memory: 1Gi}, default: {cpu: 1, memory: 1Gi}, " +
				"maxLimitRequestRatio: {cpu: 20}}, {type: PersistentVolumeClaim, max: {storage: 1Gi}}")
		}, want{OK, "limit-range", "web", "stay within the namespace's LimitRanges (small)", ""}},
		"a service that defaults make fit": {func(p *patient) {
			p.limits("{type: Container, max: {cpu: 2, memory: 1Gi}, default: {cpu: 1, memory: 1Gi}, defaultRequest: {memory: 64Mi}}")
		}, want{OK, "limit-range", "cart", "stay within", ""}},
		"pods that keep requests and limits alike": {func(p *patient) {
			p.limits("{type: Pod, maxLimitRequestRatio: {cpu: 1}}")
			p.container("web", func(c map[string]any) {
				c["resources"] = map[string]any{"limits": map[string]any{"cpu": "1", "memory": "1Gi"},
					"requests": map[string]any{"cpu": "1", "memory": "1Gi"}}
			})
		}, want{OK, "limit-range", "web", "stay within", ""}},
		"LimitRanges may not be listed": {func(p *patient) { p.forbidden = []string{"LimitRange"} },
			want{Warning, "limit-range", "", "LimitRanges of the namespace shop could not be read: you may not read that",
				"docs/doctor.md"}},

		// Other controllers of it.
		"an HPA": {func(p *patient) {
			p.add("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: old, namespace: shop}\nspec: " +
				"{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 5}")
		}, want{Fault, "conflict", "web", "HorizontalPodAutoscaler old", "kubectl -n shop delete hpa old"}},
		"an HPA while it recommends": {func(p *patient) {
			p.change("LoadLine", "main", "Recommend", "spec", "mode")
			p.add("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: old, namespace: shop}\nspec: " +
				"{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 5}")
		}, want{Note, "conflict", "web", "HorizontalPodAutoscaler old", "delete hpa old"}},
		"a VPA": {func(p *patient) {
			p.add("apiVersion: autoscaling.k8s.io/v1\nkind: VerticalPodAutoscaler\nmetadata: {name: old, namespace: shop}\nspec: " +
				"{targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}")
		}, want{Fault, "conflict", "web", "VerticalPodAutoscaler old", "patch vpa old"}},
		"a VPA that only recommends": {func(p *patient) {
			p.add("apiVersion: autoscaling.k8s.io/v1\nkind: VerticalPodAutoscaler\nmetadata: {name: old, namespace: shop}\nspec: " +
				"{targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, updatePolicy: {updateMode: \"Off\"}}")
		}, want{OK, "conflict", "web", "No other controller scales Deployment web", ""}},
		"a ScaledObject beside Scale": {func(p *patient) { p.service(1, func(s map[string]any) { s["movedBy"] = "Scale" }) },
			want{Fault, "conflict", "cart", "ScaledObject cart moves", "movedBy: KEDA"}},
		"an older LoadLine": {func(p *patient) {
			p.add("apiVersion: loadline.dev/v1alpha1\nkind: LoadLine\nmetadata: {name: before, namespace: shop, creationTimestamp: " +
				"\"2026-01-01T00:00:00Z\"}\nspec: {mode: Act, objectives: [{latency: 1s}], prometheus: {url: " +
				"\"http://prometheus.monitoring:9090\"}, policy: {baseline: hpa}, services: [{name: web, targetRef: {name: web}, " +
				"bounds: {replicas: {max: 2}}}]}")
		}, want{Fault, "conflict", "web", "LoadLine before acts on Deployment web too; before, the older one", "one of the two"}},
		"HPAs may not be listed": {func(p *patient) { p.forbidden = []string{"HorizontalPodAutoscaler"} },
			want{Warning, "conflict", "web", "you may not read that", "docs/doctor.md"}},

		// KEDA's side.
		"no ScaledObject": {func(p *patient) { p.remove("ScaledObject", "cart") },
			want{Fault, "scaledobject", "cart", "it is not scaled", "docs/keda.md"}},
		"a ScaledObject without our trigger": {func(p *patient) {
			p.change("ScaledObject", "cart", []any{map[string]any{"type": "cron"}}, "spec", "triggers")
		}, want{Fault, "scaledobject", "cart", "no trigger of Loadline", "docs/keda.md"}},
		"a trigger for another service": {func(p *patient) {
			p.change("ScaledObject", "cart", []any{map[string]any{"type": "external",
				"metadata": map[string]any{"loadline": "main", "service": "wbe"}}}, "spec", "triggers")
		}, want{Fault, "scaledobject", "cart", `names the service "wbe" (did you mean "web"?)`, "service: cart"}},
		"a trigger for another LoadLine": {func(p *patient) {
			p.change("ScaledObject", "cart", []any{map[string]any{"type": "external",
				"metadata": map[string]any{"loadline": "shop/other"}}}, "spec", "triggers")
		}, want{Fault, "scaledobject", "cart", "names another LoadLine: shop/other", "loadline: shop/main"}},
		"a trigger with the metric's type": {func(p *patient) {
			p.change("ScaledObject", "cart", []any{map[string]any{"type": "external", "metricType": "Value",
				"metadata": map[string]any{"loadline": "main"}}}, "spec", "triggers")
		}, want{Fault, "scaledobject", "cart", "metricType Value", "take metricType out"}},
		"a CPU trigger beside moved requests": {func(p *patient) {
			p.service(1, func(s map[string]any) {
				s["axes"] = []any{"Horizontal", "VerticalRequests"}
				s["bounds"].(map[string]any)["cpu"] = map[string]any{"min": "100m", "max": "1"}
			})
			p.change("ScaledObject", "cart", []any{map[string]any{"type": "external", "metadata": map[string]any{"loadline": "main"}},
				map[string]any{"type": "cpu"}}, "spec", "triggers")
		}, want{Fault, "scaledobject", "cart", "has a cpu trigger", "VerticalRequests"}},
		"narrower bounds in KEDA": {func(p *patient) { p.change("ScaledObject", "cart", int64(10), "spec", "maxReplicaCount") },
			want{Warning, "scaledobject", "cart", "allows 1 to 10 replicas", "maxReplicaCount to 20"}},
		"zero in KEDA only": {func(p *patient) { p.change("ScaledObject", "cart", int64(0), "spec", "minReplicaCount") },
			want{Warning, "scaledobject", "cart", "may take the service to zero", "minReplicaCount to 1"}},
		"a fallback to zero": {func(p *patient) {
			p.change("ScaledObject", "cart", int64(0), "spec", "minReplicaCount")
			p.change("ScaledObject", "cart", int64(0), "spec", "fallback", "replicas")
		}, want{Fault, "scaledobject", "cart", "fallback.replicas 0", "carries your peak"}},
		"no fallback": {func(p *patient) { p.change("ScaledObject", "cart", nil, "spec", "fallback") },
			want{Note, "scaledobject", "cart", "has no fallback", "docs/keda.md"}},
		"no fallback in a mode that does not act": {func(p *patient) {
			p.change("ScaledObject", "cart", nil, "spec", "fallback")
			p.change("LoadLine", "main", "Recommend", "spec", "mode")
		}, want{Warning, "scaledobject", "cart", "Nothing scales the service: in mode Recommend", "another trigger"}},
		"a fallback that takes away": {func(p *patient) { p.change("ScaledObject", "cart", nil, "spec", "fallback", "behavior") },
			want{Note, "scaledobject", "cart", "may reduce a service", "currentReplicasIfHigher"}},
		"no tolerance": {func(p *patient) { p.change("ScaledObject", "cart", nil, "spec", "advanced") },
			want{Warning, "scaledobject", "cart", "no tolerance 0 in scaleUp and scaleDown", "overshoot"}},
		"a tolerance that the cluster dropped": {func(p *patient) {
			p.change("HorizontalPodAutoscaler", "keda-hpa-cart", nil, "spec",
				"behavior")
		},
			want{Warning, "scaledobject", "cart", "has not reached its HPA keda-hpa-cart", "HPAConfigurableTolerance"}},
		"a ScaledObject that KEDA does not follow": {func(p *patient) {
			p.change("ScaledObject", "cart", []any{map[string]any{"type": "Ready", "status": "False", "message": "no scaler"}},
				"status", "conditions")
		}, want{Fault, "scaledobject", "cart", "no scaler", "describe scaledobject cart"}},
		"a ScaledObject that fell back": {func(p *patient) {
			p.change("ScaledObject", "cart", []any{map[string]any{"type": "Fallback", "status": "True", "message": "6 replicas"}},
				"status", "conditions")
		}, want{Warning, "scaledobject", "cart", "did not answer: 6 replicas", "describe"}},
		"a ScaledObject that is paused": {func(p *patient) {
			p.change("ScaledObject", "cart", map[string]any{"autoscaling.keda.sh/paused": "true"}, "metadata", "annotations")
		}, want{Note, "scaledobject", "cart", "is paused", "autoscaling.keda.sh/paused-"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := healthy(t)
			row.spoil(p)
			r := p.examine()
			if !row.want.in(r) {
				t.Errorf("want %+v", row.want)
				for _, f := range r.Findings {
					if f.State != OK {
						t.Logf("%+v", f)
					}
				}
			}
			checkSentences(t, r)
		})
	}
}

// Every finding is a sentence, and bad ones say what to do.
func checkSentences(t *testing.T, r *Report) {
	t.Helper()
	for _, f := range r.Findings {
		if strings.Contains(f.Found+f.Do, "%!") || f.Found == "" {
			t.Errorf("no sentence: %+v", f)
		}
		if f.Do == "" && (f.State == Warning || f.State == Fault) {
			t.Errorf("nothing to do: %+v", f)
		}
		if f.Do != "" && f.State == OK {
			t.Errorf("something to do although it is well: %+v", f)
		}
	}
}

// inertHPA was taken over.
const inertHPA = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: inert, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 2147483647
  behavior: {scaleUp: {selectPolicy: Disabled}, scaleDown: {selectPolicy: Disabled}}
`
