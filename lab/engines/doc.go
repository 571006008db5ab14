// Package engines compares the fluid engine with the event engine over a published grid of
// steady states and a set of transients. The event engine is the reference: the report is the
// fluid engine's error.
//
// grid.go defines the cells, steady.go and transient.go run one of each in both engines,
// summary.go computes the errors and where they are largest.
package engines
