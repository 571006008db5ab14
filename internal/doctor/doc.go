// Package doctor looks at a cluster and says what Loadline lacks there, before and
// after it is installed. It reads only; the one thing that it creates are access
// reviews, which the API server answers and does not keep.
//
// Every check ends in a finding: a state, a sentence about what was found, and a
// sentence about what to do. What may not be looked at is said to be unseen, which
// is not the same as missing.
//
// Reading order: report.go (findings), doctor.go (how a cluster is read, and the
// order of the checks), reading.go (lists that are read once, and what may not be
// read), server.go (the API server and what it can do), definition.go and
// installation.go (what is installed), namespaces.go (where the controller looks),
// permissions.go and grants.go (what it may do there), admission.go, keda.go. Then one
// application: application.go, conditions.go, sources.go (what it names beside
// workloads), metrics.go, route.go and measure.go (its Prometheus), target.go (a service's
// workload), size.go (whether it can be resized), limitrange.go and span.go (whether
// its namespace allows all sizes that it may get), conflicts.go (who else moves it),
// scaledobject.go (KEDA's end of it), budget.go.
package doctor
