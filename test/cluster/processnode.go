package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ProcessNode is a node whose containers are processes of this machine: for pods that run to their
// end, such as those of Jobs. An image is a program. Volumes are the folders of PersistentVolumes with a
// hostPath: there are no mounts, and the program gets the folder where its arguments have the mount path.
// Logs and exec work. Not simulated: limits, users, probes, more than one container.
type ProcessNode struct {
	c        *Cluster
	name     string
	programs map[string]string // by image

	mu   sync.Mutex
	pods map[types.UID]*processPod
}

type processPod struct {
	name, namespace string
	process         *process
	mounts          []string // mount path, folder, ...
	program         string
	reported        bool
}

// ProcessNode registers one until the test ends. Its cluster has no other nodes: the scheduler knows no
// difference.
func (c *Cluster) ProcessNode(t testing.TB, name string, programs map[string]string) *ProcessNode {
	t.Helper()
	n := &ProcessNode{c: c, name: name, programs: programs, pods: map[types.UID]*processPod{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", n.serveExec)
	mux.HandleFunc("/containerLogs/{namespace}/{pod}/{container}", n.serveLog)
	server := &http.Server{Handler: mux}
	go server.ServeTLS(listener, c.pki.cert("server"), c.pki.key("server")) // until it is closed
	ctx, stop := context.WithCancel(context.Background())
	if err := n.register(ctx, listener.Addr().(*net.TCPAddr).Port); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
		for _, p := range n.pods {
			if t.Failed() {
				t.Logf("pod %s:\n%s", p.name, p.process.tail(20))
			}
			p.process.stop()
		}
		_ = server.Close()
	})
	return n
}

func (n *ProcessNode) register(ctx context.Context, port int) error {
	node := n.c.nodeAt(Node{Name: n.name, Cores: 64, Memory: 256 << 30}, port)
	node.Annotations = nil
	if err := n.c.client.Create(ctx, node); err != nil {
		return err
	}
	// Controllers of nodes write to a new one at the same time: the update may conflict.
	return until(ctx, noEnd, "node "+n.name, func() error { return n.beat(ctx) })
}

// beat keeps the node ready.
func (n *ProcessNode) beat(ctx context.Context) error {
	node := &corev1.Node{}
	if err := n.c.client.Get(ctx, client.ObjectKey{Name: n.name}, node); err != nil {
		return err
	}
	for i := range node.Status.Conditions {
		node.Status.Conditions[i].LastHeartbeatTime = metav1.Now()
	}
	return n.c.client.Status().Update(ctx, node)
}

// run the pods until the context ends.
func (n *ProcessNode) run(ctx context.Context) {
	beaten := time.Now()
	for ctx.Err() == nil {
		if time.Since(beaten) > 5*time.Second {
			_ = n.beat(ctx) // again the next time
			beaten = time.Now()
		}
		var pods corev1.PodList
		if err := n.c.client.List(ctx, &pods); err == nil {
			for i := range pods.Items {
				if pods.Items[i].Spec.NodeName == n.name {
					n.sync(ctx, &pods.Items[i])
				}
			}
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// sync brings one pod a step on. What fails is tried again.
func (n *ProcessNode) sync(ctx context.Context, pod *corev1.Pod) {
	n.mu.Lock()
	p := n.pods[pod.UID]
	n.mu.Unlock()
	switch {
	case pod.DeletionTimestamp != nil:
		if p != nil {
			p.process.stop()
		}
		_ = n.c.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	case p == nil && pod.Status.Phase == corev1.PodPending:
		p, err := n.start(ctx, pod)
		if err != nil {
			return
		}
		n.mu.Lock()
		n.pods[pod.UID] = p
		n.mu.Unlock()
		n.report(ctx, pod, p)
	case p != nil && (p.process.ended() && !p.reported || pod.Status.Phase == corev1.PodPending):
		p.reported = n.report(ctx, pod, p) == nil && p.process.ended()
	}
}

// start the process of a pod.
func (n *ProcessNode) start(ctx context.Context, pod *corev1.Pod) (*processPod, error) {
	c := pod.Spec.Containers[0]
	p := &processPod{name: pod.Name, namespace: pod.Namespace, program: n.programs[c.Image]}
	if p.program == "" {
		return nil, fmt.Errorf("there is no image %s", c.Image)
	}
	for _, m := range c.VolumeMounts {
		for _, v := range pod.Spec.Volumes {
			if v.Name != m.Name || v.PersistentVolumeClaim == nil {
				continue
			}
			folder, err := n.folderOf(ctx, pod.Namespace, v.PersistentVolumeClaim.ClaimName)
			if err != nil {
				return nil, err
			}
			p.mounts = append(p.mounts, m.MountPath, folder)
		}
	}
	var env []string
	for _, e := range c.Env {
		value := e.Value
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil { // a label or an annotation
			_, key, _ := strings.Cut(strings.TrimSuffix(e.ValueFrom.FieldRef.FieldPath, "']"), "['")
			value = pod.Labels[key] + pod.Annotations[key]
			if pod.Labels[key] != "" {
				value = pod.Labels[key]
			}
		}
		env = append(env, e.Name+"="+value)
	}
	var err error
	p.process, err = spawn(n.c.dir, "pod-"+pod.Name, env, p.program, p.mounted(slices.Concat(c.Command, c.Args))...)
	return p, err
}

func (p *processPod) mounted(args []string) []string {
	args = slices.Clone(args)
	for i := range args {
		args[i] = strings.NewReplacer(p.mounts...).Replace(args[i])
	}
	return args
}

// folderOf the volume that a claim is bound to.
func (n *ProcessNode) folderOf(ctx context.Context, namespace, name string) (string, error) {
	claim, volume := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
	if err := n.c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, claim); err != nil {
		return "", err
	}
	if err := n.c.client.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, volume); err != nil {
		return "", err
	}
	if volume.Spec.HostPath == nil {
		return "", fmt.Errorf("volume %s has no hostPath", volume.Name)
	}
	return volume.Spec.HostPath.Path, nil
}

// report a pod's state as its kubelet would.
func (n *ProcessNode) report(ctx context.Context, pod *corev1.Pod, p *processPod) error {
	now, ready := metav1.Now(), corev1.ConditionTrue
	status := corev1.ContainerStatus{Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image,
		ContainerID: "process://" + fmt.Sprint(p.process.cmd.Process.Pid)}
	pod.Status.Phase = corev1.PodRunning
	if p.process.ended() {
		ready = corev1.ConditionFalse
		code := p.process.cmd.ProcessState.ExitCode()
		end := &corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: "Completed", FinishedAt: now, ContainerID: status.ContainerID}
		pod.Status.Phase = corev1.PodSucceeded
		if code != 0 {
			pod.Status.Phase, end.Reason, end.Message = corev1.PodFailed, "Error", p.process.tail(5)
		}
		if code < 0 { // by a signal
			end.ExitCode = 137
		}
		status.State.Terminated = end
	} else {
		status.Ready, status.State.Running = true, &corev1.ContainerStateRunning{StartedAt: now}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady || c.Type == corev1.ContainersReady
	})
	for _, of := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: of, Status: ready, LastTransitionTime: now})
	}
	return n.c.client.Status().Update(ctx, pod)
}

// Running are the pods of a namespace whose process runs, by name.
func (n *ProcessNode) Running(namespace string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var names []string
	for p := range maps.Values(n.pods) {
		if p.namespace == namespace && !p.process.ended() {
			names = append(names, p.name)
		}
	}
	slices.Sort(names)
	return names
}

// Kill the process of a pod, as the kernel does when memory is short.
func (n *ProcessNode) Kill(t testing.TB, pod string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.pods {
		if p.name == pod {
			p.process.kill()
			return
		}
	}
	t.Fatalf("pod %s does not run", pod)
}

func (n *ProcessNode) of(r *http.Request) *processPod {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.pods {
		if p.namespace == r.PathValue("namespace") && p.name == r.PathValue("pod") {
			return p
		}
	}
	return nil
}

func (n *ProcessNode) serveLog(w http.ResponseWriter, r *http.Request) {
	p := n.of(r)
	if p == nil {
		http.NotFound(w, r)
		return
	}
	if r.FormValue("tailLines") == "1" {
		fmt.Fprintln(w, p.process.tail(1))
		return
	}
	text, err := os.ReadFile(p.process.log)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(text)
}

func (n *ProcessNode) serveExec(w http.ResponseWriter, r *http.Request) {
	p := n.of(r)
	if p == nil {
		http.NotFound(w, r)
		return
	}
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, executor{p, n.c.dir}, p.name, "", r.PathValue("container"), r.Form["command"], options, time.Hour, time.Minute,
		[]string{"v4.channel.k8s.io"})
}

// executor runs a command beside a pod's process. The first process of a container is its program.
type executor struct {
	p   *processPod
	dir string
}

func (e executor) ExecInContainer(ctx context.Context, _, _, _ string, command []string, in io.Reader, out, errs io.WriteCloser, _ bool,
	_ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	program := command[0]
	if program == "/proc/1/exe" {
		program = e.p.program
	}
	c := exec.CommandContext(ctx, program, e.p.mounted(command[1:])...)
	c.Dir, c.Env = e.dir, []string{"HOME=" + e.dir, "PATH=" + os.Getenv("PATH")}
	c.Stdout, c.Stderr = out, errs
	c.WaitDelay = time.Second
	if in != nil {
		// Not c.Stdin: the command may end before its input does.
		pipe, err := c.StdinPipe()
		if err != nil {
			return err
		}
		go func() {
			_, _ = io.Copy(pipe, in)
			pipe.Close()
		}()
	}
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}

// HostVolume makes a PersistentVolume in a folder of the test, for claims without a class.
func (c *Cluster) HostVolume(t testing.TB, name string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "volume")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	c.ApplyYAML(t, "default", fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec:
  capacity: {storage: 100Gi}
  accessModes: [ReadWriteMany, ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: %s}
`, name, folder))
	return folder
}
