// Package slosplit divides an end-to-end SLO among the services that a request visits, so that
// meeting all parts meets the whole, at least cost.
//
// A part, or share, is the time that one visit to a service may take at the SLO's percentile,
// without its calls. The service's load-latency profile (internal/profile) gives the visits per
// second that an instance may get, and the load the number of instances.
//
// Reading order: chain.go (a path through a call tree with the data that a split needs), cut.go
// (extracting paths from an application), instances.go (the cost of a share, and infeasible
// SLOs), split.go (the interface, and the splitters even and proportional), parslo.go (the
// cheapest), cache.go (only changed chains are computed again), plan.go (the shares of a whole
// application), adjust.go (until the measured tail meets the SLO), exchange.go (instances for
// cheaper ones), measure.go (the measurement, in the event engine).
package slosplit
