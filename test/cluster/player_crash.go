package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// crashed are the pods that the engine has restarted since the last call, after running out of
// memory. The lock is held.
func (p *Player) crashed() []podSeen {
	var list []podSeen
	for _, played := range p.pods {
		own := p.engineOwn(played)
		if own == nil {
			continue
		}
		if played.ready != 0 && own.Ready != played.ready && played.serving {
			list = append(list, played.podSeen)
		}
		played.ready = own.Ready
	}
	return list
}

// report sets the pod status that a kubelet would after an out-of-memory kill: not ready, one
// more restart. The fake kubelet makes it ready again after its start-up. While the API server
// is down, the crash is not visible, since the engine's pod serves again by then.
func (p *Player) report(ctx context.Context, s podSeen) {
	var pod corev1.Pod
	if err := p.cache.Get(ctx, types.NamespacedName{Namespace: p.namespace, Name: s.name}, &pod); err != nil {
		return
	}
	before := pod.DeepCopy()
	now := metav1.NewTime(time.Now())
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionFalse, "ContainersNotReady", now
		}
	}
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		if c.Name != s.container {
			continue
		}
		var since metav1.Time
		if c.State.Running != nil {
			since = c.State.Running.StartedAt
		}
		c.Ready, c.RestartCount = false, c.RestartCount+1
		c.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "OOMKilled", StartedAt: since, FinishedAt: now, ContainerID: c.ContainerID,
		}}
		c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
		c.ContainerID = fmt.Sprintf("fake://%s-%d", c.Name, c.RestartCount)
	}
	// The whole list of statuses is replaced; only the fake kubelet writes it too.
	_ = p.admin.Status().Patch(ctx, &pod, client.MergeFrom(before))
}
