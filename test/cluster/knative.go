package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/test/cluster/binaries"
)

// KnativeOptions of Knative Serving.
type KnativeOptions struct {
	// Address of this machine, at which pods and activators are reached: not of the loopback interface,
	// which no endpoint may have.
	Address string
	// QueueImage is that of the queue-proxy.
	QueueImage string
	// Autoscaler is the data of the ConfigMap config-autoscaler.
	Autoscaler map[string]string
}

// Knative is Knative Serving with its real controller, webhook and activator. Their ports are fixed, so
// a test that has it runs in a network namespace of its own. Two things are played: the ingress, whose
// objects are marked ready, and the load balancer, which is the test.
type Knative struct {
	// Activator is where requests are sent, with the headers Knative-Serving-Namespace and
	// Knative-Serving-Revision.
	Activator string

	Controller, Webhook, ActivatorServer *Server
}

// ports of Knative's processes that may be set.
const (
	knativeWebhookPort = 8443
	activatorPort      = 8012
	activatorMetrics   = 9095
)

// Knative starts Knative Serving for one test.
func (c *Cluster) Knative(t testing.TB, o KnativeOptions) *Knative {
	t.Helper()
	files, err := binaries.Knative(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.installKnative(t.Context(), files, o); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := c.Kubeconfig(Admin)
	if err != nil {
		t.Fatal(err)
	}
	start := func(name string, number int, more ...string) *Server {
		s := &Server{c: c, name: "knative-" + name, program: filepath.Join(files.Programs, name), env: append([]string{
			"KUBECONFIG=" + kubeconfig, "SYSTEM_NAMESPACE=knative-serving", "POD_NAME=" + name, "POD_IP=" + o.Address,
			"CONFIG_LOGGING_NAME=config-logging", "CONFIG_OBSERVABILITY_NAME=config-observability",
			fmt.Sprintf("PROFILING_PORT=%d", 8600+number), fmt.Sprintf("METRICS_PROMETHEUS_PORT=%d", activatorMetrics+number),
		}, more...)}
		s.Start(t)
		return s
	}
	k := &Knative{Activator: fmt.Sprintf("%s:%d", o.Address, activatorPort)}
	k.ActivatorServer = start("activator", 0)
	k.Webhook = start("webhook", 1, "WEBHOOK_NAME=webhook", fmt.Sprintf("WEBHOOK_PORT=%d", knativeWebhookPort))
	k.Controller = start("controller", 2)
	c.playIngress(t)
	for _, s := range []*Server{k.ActivatorServer, k.Webhook, k.Controller} {
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("%s:\n%s", s.process.log, s.process.tail(30))
			}
		})
	}
	Eventually(t, "Knative's webhook", func() error {
		var o unstructured.Unstructured
		o.SetAPIVersion("admissionregistration.k8s.io/v1")
		o.SetKind("MutatingWebhookConfiguration")
		if err := c.client.Get(t.Context(), types.NamespacedName{Name: "webhook.serving.knative.dev"}, &o); err != nil {
			return err
		}
		hooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
		for _, h := range hooks {
			bundle, _, _ := unstructured.NestedString(h.(map[string]any), "clientConfig", "caBundle")
			if bundle == "" {
				return errors.New("it has no certificate yet")
			}
		}
		return nil
	})
	Eventually(t, "Knative's activator", func() error {
		answer, err := http.Get("http://" + fmt.Sprintf("%s:%d/metrics", o.Address, activatorMetrics))
		if err != nil {
			return err
		}
		answer.Body.Close()
		return nil
	})
	return k
}

func (c *Cluster) installKnative(ctx context.Context, files binaries.KnativeFiles, o KnativeOptions) error {
	core := filepath.Join(files.Serving, "config", "core")
	networking := func(name string) string { return filepath.Join(files.Networking, "config", name) }
	if err := c.applyFiles(ctx, "knative-serving", filepath.Join(core, "100-namespace.yaml"), filepath.Join(core, "300-resources"),
		filepath.Join(core, "configmaps"), filepath.Join(core, "webhooks"), networking("certificate.yaml"), networking("domain-claim.yaml"),
		networking("ingress.yaml"), networking("serverlessservice.yaml"), networking("config-network.yaml"),
		filepath.Join(files.Caching, "config", "image.yaml")); err != nil {
		return err
	}
	for name, data := range map[string]map[string]string{
		"config-autoscaler":    o.Autoscaler,
		"config-deployment":    {"queue-sidecar-image": o.QueueImage, "registries-skipping-tag-resolving": "loadline.dev"},
		"config-observability": {"metrics-protocol": "prometheus"},
		"config-network":       {"ingress-class": "played.loadline.dev"},
	} {
		if err := c.setData(ctx, name, data); err != nil {
			return err
		}
	}
	if err := c.pointWebhooks(ctx); err != nil {
		return err
	}
	return c.apply(ctx, "knative-serving", fmt.Appendf(nil, `
apiVersion: v1
kind: Service
metadata: {name: webhook}
spec: {type: ExternalName, externalName: localhost, ports: [{name: https-webhook, port: %[2]d, targetPort: %[2]d}]}
---
apiVersion: v1
kind: Service
metadata: {name: activator-service}
spec: {ports: [{name: http, port: 80, targetPort: 8012}, {name: http2, port: 81, targetPort: 8013}, {name: http-metrics, port: 9090}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: activator-service}
subsets:
  - addresses: [{ip: %[1]s}]
    ports: [{name: http, port: 8012}, {name: http2, port: 8013}, {name: http-metrics, port: %[3]d}]
`, o.Address, knativeWebhookPort, activatorMetrics))
}

// setData replaces settings in one of Knative's ConfigMaps.
func (c *Cluster) setData(ctx context.Context, name string, data map[string]string) error {
	var m corev1.ConfigMap
	if err := c.client.Get(ctx, types.NamespacedName{Namespace: "knative-serving", Name: name}, &m); err != nil {
		return err
	}
	if m.Data == nil {
		m.Data = map[string]string{}
	}
	maps.Copy(m.Data, data)
	return c.client.Update(ctx, &m)
}

// pointWebhooks has the API server call the webhooks at the port where they are: their Service is a name
// for this machine.
func (c *Cluster) pointWebhooks(ctx context.Context) error {
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("admissionregistration.k8s.io/v1")
		list.SetKind(kind + "List")
		if err := c.client.List(ctx, list); err != nil {
			return err
		}
		for i := range list.Items {
			o := &list.Items[i]
			if !strings.HasSuffix(o.GetName(), "serving.knative.dev") {
				continue
			}
			hooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
			for _, h := range hooks {
				if err := unstructured.SetNestedField(h.(map[string]any), int64(knativeWebhookPort), "clientConfig", "service", "port"); err != nil {
					return err
				}
			}
			if err := unstructured.SetNestedSlice(o.Object, hooks, "webhooks"); err != nil {
				return err
			}
			if err := c.client.Update(ctx, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// playIngress marks Knative's Ingresses ready until the test ends, as the controller of an ingress does
// once its proxies have the routes.
func (c *Cluster) playIngress(t testing.TB) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	var last error // what failed is tried again
	t.Cleanup(func() {
		cancel()
		<-ended
		if last != nil && t.Failed() {
			t.Logf("the played ingress: %v", last)
		}
	})
	go func() {
		defer close(ended)
		again := time.NewTicker(200 * time.Millisecond)
		defer again.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
				if err := c.markIngresses(ctx); ctx.Err() == nil {
					last = err
				}
			}
		}
	}()
}

func (c *Cluster) markIngresses(ctx context.Context) error {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("networking.internal.knative.dev/v1alpha1")
	list.SetKind("IngressList")
	if err := c.client.List(ctx, list); err != nil {
		return err
	}
	balancer := map[string]any{"ingress": []any{map[string]any{"domainInternal": "played.knative-serving.svc.cluster.local"}}}
	var conditions []any
	for _, kind := range []string{"LoadBalancerReady", "NetworkConfigured", "Ready"} {
		conditions = append(conditions, map[string]any{"type": kind, "status": "True",
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339)})
	}
	for i := range list.Items {
		o := &list.Items[i]
		observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		if observed == o.GetGeneration() {
			continue
		}
		base := o.DeepCopy()
		o.Object["status"] = map[string]any{"observedGeneration": o.GetGeneration(), "conditions": slices.Clone(conditions),
			"publicLoadBalancer": balancer, "privateLoadBalancer": balancer}
		if err := c.client.Status().Patch(ctx, o, client.MergeFrom(base)); err != nil {
			return err
		}
	}
	return nil
}
