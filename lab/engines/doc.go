// Package engines holds the fluid engine against the event engine over a
// published grid of steady states and a set of transients. The event engine is
// the reference: what is reported is the fluid engine's error.
//
// grid.go lays out the cells, steady.go and transient.go run one of each in
// both engines, summary.go says how far off the fluid engine is and where.
package engines
