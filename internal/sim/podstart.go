package sim

import (
	"time"

	"github.com/loadline/loadline"
)

// PodStart is what comes between binding and the start of a pod's container: the kubelet
// sets up pods one after the other, and pulls images that the node does not have.
type PodStart struct {
	Alone loadline.Dist // of a pod that starts alone: sandbox, network, volumes
	Each  time.Duration // more for each pod that is ahead of it on the node
	Pull  loadline.Dist // of an image, once for each node and service; one at a time
}

// MeasuredPodStart is fitted to pods without images to pull that started 1, 10, 50, 100 and
// 150 at once on clusters of three nodes: 1.6, 3.6, 11.2, 21.2 and 31.3 s in the mean. The
// time to pull an image is an assumption: some 100 MiB at 200 Mbit/s.
func MeasuredPodStart() *PodStart {
	return &PodStart{
		Alone: loadline.Dist{Mean: 1600 * time.Millisecond, CV: 0.3},
		Each:  1200 * time.Millisecond,
		Pull:  loadline.Dist{Mean: 4 * time.Second, CV: 0.5},
	}
}

// containerStart is when the container of a pod that is bound now starts.
func (c *ControlPlane) containerStart(n *Node, service int, now time.Duration) time.Duration {
	turn := max(now, n.startFree)
	n.startFree = turn + c.cfg.PodStart.Each
	image := &n.images[service]
	if *image == Never {
		*image = max(now, n.pullFree) + c.startPull.DrawTime(c.rng[service], 1)
		n.pullFree = *image
	}
	return max(turn, *image) + c.startAlone.DrawTime(c.rng[service], 1)
}

// startContainer notifies the engine if a container starts now.
func (c *ControlPlane) startContainer(slot int, now time.Duration) {
	if p := &c.pods[slot]; p.startAt <= now {
		p.startAt = Never
		c.kubelet.PodStarting(slot)
	}
}
