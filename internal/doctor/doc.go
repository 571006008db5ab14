// Package doctor checks a cluster and reports what Loadline lacks there, before and after
// installation. It only reads; the only objects it creates are access reviews, which the API
// server answers and does not store.
//
// Every check ends in a finding: a state, a sentence on what was found, and a sentence on what
// to do. What may not be read is reported as unseen, which is not the same as missing.
//
// Reading order: report.go (findings), doctor.go (access to a cluster, and the order of the
// checks), reading.go (lists that are read once, and what may not be read), server.go (the API
// server), definition.go and installation.go (the installation), namespaces.go (the
// controller's namespaces), permissions.go and grants.go (its permissions there), admission.go,
// keda.go. Then one application: application.go, conditions.go, sources.go (referenced objects
// besides workloads), metrics.go, route.go and measure.go (its Prometheus), target.go (a
// service's workload), size.go (in-place resize), limitrange.go and span.go (whether its
// namespace allows all sizes that it may get), conflicts.go (other controllers),
// scaledobject.go (its ScaledObject), budget.go.
package doctor
