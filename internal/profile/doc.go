// Package profile holds load-latency profiles: how long a visit to a service takes
// at some percentile, its calls to others left out, when one instance of it gets so
// many visits per second. A profile belongs to a service, a version and an instance
// size; a release or a resize makes another of it.
//
// Reading order: profile.go (the data and its file), curve.go (what is made of the
// data: a line that never falls, and its inverse), measure.go (a service taken out
// of its application and loaded in the event engine); room past makes them from a
// history. Then what watches them live: window.go (what is seen of a service in a
// while), stretch.go (one number for how a curve changes), monitor.go with spread.go
// (the test), change.go (what it says).
package profile
