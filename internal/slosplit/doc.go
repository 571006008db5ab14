// Package slosplit divides an end-to-end SLO among the services that a request
// passes, so that keeping all parts keeps the whole, at least cost.
//
// A part, or share, is the time that one visit to a service may take at the SLO's
// percentile, its calls to others left out. From the service's load-latency profile
// (internal/profile) follows how many visits per second an instance may get, and
// from the load how many instances it takes.
//
// Reading order: chain.go (a path through a call tree with all that a split needs),
// cut.go (how paths are cut out of an application), instances.go (what a share
// costs, and what cannot be had), split.go (the interface, and the ways even and
// proportional), parslo.go (the cheapest), cache.go (only what changed is computed
// again), plan.go (the shares of a whole application), adjust.go (until the measured
// tail meets the SLO), exchange.go (instances for cheaper ones), measure.go (the
// measurement, in the event engine).
package slosplit
