// Package kube is the cluster's end of one application: its workloads, their pods,
// who else moves them, and the two moves, replicas and sizes.
//
// Look reads, from a cache where there is one: pods, ReplicaSets, autoscalers and
// LoadLines are listed once per pass for the whole namespace, however many services
// there are. Scale and Resize write, through subresources only: no template is ever
// changed, so no roll-out is ever caused. The size of pods that are created later is
// given by the API server itself, see deploy/admission.
//
// Reading order: options.go (what is needed), look.go (one pass, and what it finds),
// target.go and workload.go (the object that a service names), pods.go and owners.go
// (which pods are whose), size.go (what they have), rollout.go (a roll-out in
// progress), changed.go (who set the replicas), conflicts.go with others.go and
// keda.go (who else moves it); then scale.go, resize.go with plan.go, qos.go,
// answer.go, outcome.go and evict.go, and strays.go. strip.go keeps the cache small.
// internal/doctor goes by the same rules before all this is at work: what is exported
// beside the passes and the moves is for it.
package kube
