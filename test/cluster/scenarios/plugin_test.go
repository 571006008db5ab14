package scenarios

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/test/cluster"
)

// plugin runs kubectl loadline as a user: the product under the plugin's name.
type plugin struct {
	dir, kubeconfig string
	flags           []string
}

func (s *fixture) plugin(t *testing.T, token string, flags ...string) *plugin {
	t.Helper()
	p := &plugin{dir: t.TempDir(), flags: append([]string{"-n", s.ns, "--system-namespace", s.ns}, flags...)}
	program, err := filepath.Abs(cluster.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(p.dir, "kubectl-loadline")); err != nil {
		t.Fatal(err)
	}
	admin := s.c.Config(cluster.Admin)
	file := clientcmdapi.NewConfig()
	file.Clusters["c"] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	file.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token}
	file.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: s.ns}
	file.CurrentContext = "x"
	p.kubeconfig = filepath.Join(p.dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*file, p.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *plugin) run(args ...string) (out, errs string, err error) {
	args = append(args, p.flags...)
	cmd := exec.Command(filepath.Join(p.dir, "kubectl-loadline"), args...)
	if kubectl, found := exec.LookPath("kubectl"); found == nil { // as people call it
		cmd = exec.Command(kubectl, append([]string{"loadline"}, args...)...)
	}
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig, "PATH="+p.dir+":"+os.Getenv("PATH"))
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err = cmd.Run()
	return o.String(), e.String(), err
}

// completes asks as kubectl does what a command line can go on with; its last word is being typed.
func (p *plugin) completes(t *testing.T, want string, args ...string) {
	t.Helper()
	name := filepath.Join(p.dir, "kubectl_complete-loadline")
	if err := os.Symlink("kubectl-loadline", name); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig)
	out, err := cmd.Output()
	if first, _, _ := strings.Cut(string(out), "\n"); err != nil || first != want {
		t.Errorf("%q goes on with %q, want %q: %v", args, out, want, err)
	}
}

// says runs the plugin and wants parts of its output.
func (p *plugin) says(t *testing.T, wants []string, args ...string) string {
	t.Helper()
	out, errs, err := p.run(args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, out, errs)
	}
	for _, want := range wants {
		if !strings.Contains(out, want) {
			t.Errorf("%v: %q is not in\n%s%s", args, want, out, errs)
		}
	}
	return out
}

// proxiedAddress is an address that the loopback interface has besides 127.0.0.1: the API server
// proxies to no loopback address, and tests listen on no other interface. "" = there is none.
func proxiedAddress(t *testing.T) string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 {
			continue
		}
		addresses, err := i.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range addresses {
			if n, is := a.(*net.IPNet); is && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
				return n.IP.String()
			}
		}
	}
	return ""
}

// TestPlugin: each command, with the permissions of the user who runs it; through the API server's
// proxy where the loopback interface has an address for it.
func TestPlugin(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 160)
	name := s.app.Services[0].Name
	address := cluster.FreeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	var direct []string
	if ip := proxiedAddress(t); ip != "" {
		address = net.JoinHostPort(ip, port)
		s.c.ApplyYAML(t, s.ns, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: loadline-console}
spec: {clusterIP: None, ports: [{name: console, port: %[1]s}]}
---
apiVersion: v1
kind: Pod
metadata: {name: loadline}
spec: {schedulerName: none, containers: [{name: loadline, image: loadline}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: loadline-console}
subsets: [{addresses: [{ip: %[2]s, targetRef: {kind: Pod, name: loadline, namespace: %[3]s}}], ports: [{name: console, port: %[1]s}]}]
`, port, ip, s.ns))
		// The API server proxies to pods only: this one stands for the process.
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "loadline"}}
		status := fmt.Appendf(nil, `{"status":{"phase":"Running","podIP":%[1]q,"podIPs":[{"ip":%[1]q}]}}`, ip)
		if err := s.admin.Status().Patch(t.Context(), pod, client.RawPatch(types.MergePatchType, status)); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Log("the console is asked directly; through the API server after: ip address add 10.255.0.1/32 dev lo")
		ca := filepath.Join(t.TempDir(), "ca.crt")
		if err := os.WriteFile(ca, s.c.CA(), 0o666); err != nil {
			t.Fatal(err)
		}
		direct = []string{"--console", "https://" + address, "--console-ca", ca}
	}
	s.run(t, cluster.ProductOptions{Console: address})
	s.loadLine(t, v1alpha1.Recommend, "")
	s.waitCondition(t, "Ready=True", "Active=False/Recommending")
	const rights = "get, list, patch"
	alice := s.plugin(t, s.reader(t, s.ns, "alice", rights), direct...)
	bob := s.plugin(t, s.reader(t, s.ns, "bob", "get, list"), direct...)
	s.c.ApplyYAML(t, s.ns, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: people}
rules:
- {apiGroups: [apps], resources: [deployments], verbs: [get]}
- {apiGroups: [""], resources: [services/proxy], resourceNames: ["https:loadline-console:console"], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: people}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: people}
subjects: [{kind: ServiceAccount, name: alice}, {kind: ServiceAccount, name: bob}]
`)
	cluster.Eventually(t, "a recommendation that differs from the Deployment, and a cost by the console", func() error {
		out, errs, err := alice.run("diff")
		if err != nil || !strings.Contains(strings.Join(strings.Fields(out), " "), name+" replicas 1 ") {
			return fmt.Errorf("%v: %s%s", err, out, errs)
		}
		out, errs, err = alice.run("status")
		if err != nil || errs != "" || !strings.Contains(out, " USD") || !strings.Contains(out, "Recommend") {
			return fmt.Errorf("%v: %s%s", err, out, errs)
		}
		return nil
	})
	alice.says(t, []string{"the mode is now Act", "kubectl loadline rollback shop"}, "promote", "shop", "--mode", "Act")
	s.waitReplicas(t, name, 3, 12)
	cluster.Eventually(t, "the reason of the change", func() error {
		out, errs, err := bob.run("why", name)
		if err != nil || errs != "" || !strings.Contains(out, name+" went from ") {
			return fmt.Errorf("%v: %s%s", err, out, errs)
		}
		return nil
	})
	bob.says(t, []string{name + " went from"}, "explain", "--since", "1h")
	bob.says(t, []string{"1 applications", s.ns + "/shop", "Act", "p99"}, "top", "--once")
	// What a shell is told for the LoadLine, its services and the namespace that are being typed.
	bob.completes(t, "shop", "status", "sh")
	bob.completes(t, name, "why", "")
	bob.says(t, []string{`"name": "shop"`, `"per_hour"`}, "status", "--output", "json")

	alice.says(t, []string{"is paused: all services"}, "pause", "shop")
	s.waitCondition(t, "Paused=True/PausedByAnnotation")
	alice.says(t, []string{"is resumed"}, "resume")
	s.waitCondition(t, "Paused=False")
	alice.says(t, []string{"the policy is now hpa:target=70"}, "promote", "--policy", "hpa:target=70")
	if p := s.get(t).Spec.Policy.Baseline; p != "hpa:target=70" {
		t.Errorf("the policy is %s", p)
	}
	alice.says(t, []string{"returned to mode Act"}, "rollback")
	if p := s.get(t).Spec.Policy.Baseline; !strings.HasPrefix(string(p), "hpa:target=60") {
		t.Errorf("the policy is %s", p)
	}
	for _, args := range [][]string{{"pause", "shop"}, {"promote", "shop", "--mode", "Observe"}} {
		if out, errs, err := bob.run(args...); err == nil || !strings.Contains(errs, "forbidden") {
			t.Errorf("bob may %v: %s%s", args, out, errs)
		}
	}
	if out, errs, err := bob.run("why", "nobody"); err == nil || !strings.Contains(errs, `has a service "nobody"`) {
		t.Errorf("%v: %s%s", err, out, errs)
	}
	// Without the console, the status is what there is.
	bob.flags = append(bob.flags, "--console", "https://127.0.0.1:1")
	out, errs, err := bob.run("why", name)
	if err != nil || !strings.Contains(errs, "the status is shown") || !strings.Contains(out, name+" is ") {
		t.Errorf("%v: %s%s", err, out, errs)
	}
}
