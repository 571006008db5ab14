package cluster

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Node is a fake node with a capacity, which KWOK keeps alive.
type Node struct {
	Name   string
	Cores  int
	Memory int64 // bytes
}

// Annotations of pods (usually in a workload's template) for the fake kubelet.
const (
	// StartAnnotation is how long a pod takes from the start of its containers to
	// ready, as a duration.
	StartAnnotation = "cluster.loadline.dev/start"
	// ResizeAnnotation with the value "Deferred" defers in-place resizes, like a full node.
	ResizeAnnotation = "cluster.loadline.dev/resize"
)

// managed marks the nodes that KWOK keeps.
const managed = "kwok.x-k8s.io/node"

//go:embed stages/*.yaml
var stages embed.FS

// startNodes starts KWOK and makes the nodes.
func (c *Cluster) startNodes(ctx context.Context) error {
	if c.options.NoNodes {
		return nil
	}
	var err error
	if c.kubelets, err = serveKubelets(c.pki); err != nil {
		return err
	}
	config := filepath.Join(c.dir, "kwok.yaml")
	if err := writeStages(config, c.options); err != nil {
		return err
	}
	kubeconfig, err := c.Kubeconfig(Admin)
	if err != nil {
		return err
	}
	p, err := c.spawn("kwok", nil, c.program("kwok"),
		"--config="+config, "--kubeconfig="+kubeconfig, "--manage-nodes-with-annotation-selector="+managed+"=fake",
		"--node-lease-duration-seconds=40", "--cidr=10.240.0.0/12",
		"--server-address="+c.address("kwok"), fmt.Sprintf("--node-port=%d", c.ports["kwok"]), "--node-ip=127.0.0.1",
		"--tls-cert-file="+c.pki.cert("server"), "--tls-private-key-file="+c.pki.key("server"))
	if err != nil {
		return err
	}
	if err := c.waitHealthy(ctx, p, "http://"+c.address("kwok")+"/healthz", ""); err != nil {
		return err
	}
	for _, n := range c.options.Nodes {
		if err := c.client.Create(ctx, c.node(n)); err != nil {
			return err
		}
	}
	for _, n := range c.options.Nodes {
		err := until(ctx, noEnd, "node "+n.Name, func() error {
			var node corev1.Node
			if err := c.client.Get(ctx, types.NamespacedName{Name: n.Name}, &node); err != nil {
				return err
			}
			if len(node.Spec.Taints) > 0 {
				return fmt.Errorf("it has taints: %v", node.Spec.Taints)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// LoseNode deletes a node and, without a grace period, the pods on it: what a cluster makes of a
// node that has failed for good, without the minutes that it waits before.
func (c *Cluster) LoseNode(ctx context.Context, name string) error {
	if err := c.client.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}); client.IgnoreNotFound(err) != nil {
		return err
	}
	var pods corev1.PodList
	if err := c.client.List(ctx, &pods); err != nil {
		return err
	}
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName != name {
			continue
		}
		if err := c.client.Delete(ctx, &pods.Items[i], client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// ReturnNode registers a node of the cluster's options that was lost.
func (c *Cluster) ReturnNode(ctx context.Context, name string) error {
	for _, n := range c.options.Nodes {
		if n.Name == name {
			return client.IgnoreAlreadyExists(c.client.Create(ctx, c.node(n)))
		}
	}
	return fmt.Errorf("the cluster's options have no node %q", name)
}

// writeStages joins the stage files with the configured delays.
func writeStages(path string, o Options) error {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	fill := strings.NewReplacer("@podStart", ms(o.PodStart), "@podStop", ms(o.PodStop), "@resize", ms(o.Resize))
	names, err := fs.Glob(stages, "stages/*.yaml")
	if err != nil {
		return err
	}
	var all strings.Builder
	for _, name := range names {
		text, err := stages.ReadFile(name)
		if err != nil {
			return err
		}
		all.WriteString("---\n" + fill.Replace(string(text)))
	}
	return os.WriteFile(path, []byte(all.String()), 0o666)
}

// node is a node as its kubelet would register it. Its kubelet's address is ours, so that
// metrics-server reads the pods' usage from us.
func (c *Cluster) node(n Node) *corev1.Node { return c.nodeAt(n, c.kubelets.port) }

// nodeAt is a node whose kubelet listens on a port of the loopback interface.
func (c *Cluster) nodeAt(n Node, kubelet int) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(n.Cores), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(n.Memory, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(500, resource.DecimalSI),
	}
	now := metav1.Now()
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        n.Name,
			Labels:      map[string]string{corev1.LabelHostname: n.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"},
			Annotations: map[string]string{managed: "fake", "metrics.k8s.io/resource-metrics-path": kubeletPath(n.Name)},
		},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "the fake kubelet is ready",
				LastHeartbeatTime: now, LastTransitionTime: now,
			}},
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}, {Type: corev1.NodeHostName, Address: n.Name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(kubelet)}},
		},
	}
}
