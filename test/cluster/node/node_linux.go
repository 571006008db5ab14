package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/test/cluster"
	"github.com/loadline/loadline/test/cluster/binaries"
)

const (
	// Name of the node.
	Name = "real"
	// AppImage plays a service of an application model, see lab/realapp.
	AppImage = "loadline.dev/app:1"

	nodeAddress = "10.210.0.1"
	plugins     = "/usr/lib/cni"
	pauseImage  = "loadline.dev/pause:1"
	socket      = "/run/containerd/containerd.sock" // cAdvisor asks there for the names of containers; /run is ours
)

// Node is a control plane with one real node.
type Node struct {
	*cluster.Cluster
	// Kubelet is its address, for HTTPS with a token of Admin.
	Kubelet string

	admin client.Client
}

// Start runs a control plane, containerd, the kubelet and kube-proxy for one test, which it skips where that is
// not possible. It stops them at its end.
func Start(t testing.TB) *Node {
	t.Helper()
	if missing != "" {
		t.Skip(missing)
	}
	images, err := imageFiles()
	if err != nil {
		t.Fatal(err)
	}
	bin, err := binaries.Node(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	user := cluster.User{Name: "system:node:" + Name, Groups: []string{"system:nodes"}}
	c := cluster.Start(t, cluster.Options{NoNodes: true, Users: []cluster.User{user, proxyUser}})
	n := &Node{Cluster: c, Kubelet: nodeAddress + ":10250", admin: c.Client(t, cluster.Admin)}
	n.startContainerd(t, images)
	n.startKubelet(t, filepath.Join(bin, "kubelet"), user)
	if err := keepPods(); err != nil {
		t.Fatal(err)
	}
	n.startProxy(t, filepath.Join(bin, "kube-proxy"))
	return n
}

// imageFiles are the images that make test-node makes; an error names what is missing.
func imageFiles() ([]string, error) {
	var images []string
	for _, name := range []string{"pause.tar", "app.tar"} {
		path, err := binaries.Repository(filepath.Join("out", name))
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("there is no image: %w: run make test-node, which makes it", err)
		}
		images = append(images, path)
	}
	return images, nil
}

func (n *Node) file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(n.Dir(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// startContainerd loads the images.
func (n *Node) startContainerd(t testing.TB, images []string) {
	t.Helper()
	dir := filepath.Join(n.Dir(), "containerd")
	n.file(t, "cni/10-bridge.conflist", fmt.Sprintf(`{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "pods0",
"isGateway": true, "isDefaultGateway": true, "ipMasq": false,
"ipam": {"type": "host-local", "ranges": [[{"subnet": %q}]], "dataDir": %q}}]}`, podAddresses, dir+"/ipam"))
	config := n.file(t, "containerd.toml", fmt.Sprintf(`version = 2
root = %q
state = "/run/containerd-node"
oom_score = 0
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt"]
[grpc]
  address = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
`, dir, socket, pauseImage, plugins, filepath.Join(n.Dir(), "cni")))
	n.Server(t, "containerd", "containerd", "--config", config)
	cluster.Eventually(t, "containerd", func() error { return ctr("version") })
	for _, image := range images {
		n.Import(t, image)
	}
}

// Import an image into the node, from a tar.
func (n *Node) Import(t testing.TB, image string) {
	t.Helper()
	if err := ctr("images", "import", image); err != nil {
		t.Fatal(err)
	}
}

func ctr(args ...string) error {
	out, err := exec.Command("ctr", append([]string{"-a", socket, "-n", "k8s.io"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ctr %v: %w: %s", args, err, out)
	}
	return nil
}

func (n *Node) startKubelet(t testing.TB, program string, user cluster.User) {
	t.Helper()
	kubeconfig, err := n.Kubeconfig(user)
	if err != nil {
		t.Fatal(err)
	}
	pki := filepath.Join(n.Dir(), "pki")
	config := n.file(t, "kubelet.yaml", fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /%s
enforceNodeAllocatable: [pods]
containerRuntimeEndpoint: unix://%s
address: %s
healthzBindAddress: 127.0.0.1
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %s/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: %s/server.crt
tlsPrivateKeyFile: %s/server.key
failSwapOn: false
oomScoreAdj: 0
makeIPTablesUtilChains: false
podLogsDir: %s/pods
resolvConf: ""
evictionHard: {memory.available: "100Mi", nodefs.available: "1%%", imagefs.available: "1%%"}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
`, os.Getenv(nameVariable), socket, nodeAddress, pki, pki, pki, n.Dir()))
	n.Server(t, "kubelet", program, "--config="+config, "--kubeconfig="+kubeconfig, "--root-dir="+filepath.Join(n.Dir(), "kubelet"),
		"--hostname-override="+Name, "--node-ip="+nodeAddress, "--housekeeping-interval=2s", "--v=2")
	cluster.Eventually(t, "the node", func() error {
		var node corev1.Node
		if err := n.Client(t, cluster.Admin).Get(t.Context(), types.NamespacedName{Name: Name}, &node); err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0 {
				return nil
			}
		}
		return fmt.Errorf("it is not ready: %v %v", node.Status.Conditions, node.Spec.Taints)
	})
}
