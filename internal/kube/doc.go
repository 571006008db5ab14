// Package kube connects one application to its cluster: its workloads, their
// pods, conflicting autoscalers, and the two operations, scaling replicas and
// resizing pods.
//
// Look reads, from a cache if there is one: pods, ReplicaSets, autoscalers and
// LoadLines are listed once per pass for the whole namespace, whatever the number
// of services. Scale and Resize write, through subresources only: templates are
// never changed, so no rollout is ever caused. The API server itself sets the
// size of pods that are created later, see deploy/admission.
//
// Reading order: options.go (dependencies), look.go (one pass, and its result),
// target.go and workload.go (the target of a service), pods.go and owners.go
// (ownership of pods), size.go (their size), rollout.go (a rollout in progress),
// changed.go (the owner of the replicas), conflicts.go with others.go and keda.go
// (other autoscalers); then scale.go, restore.go, resize.go with plan.go, qos.go, answer.go,
// outcome.go and evict.go, and mismatched.go. constraints.go reads what the
// namespace allows. strip.go keeps the cache small. reserve.go
// holds the reserve of a class, the only objects that are written as a whole.
// internal/doctor uses the same rules before the controller runs: other exported
// functions are for it.
package kube
