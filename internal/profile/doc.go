// Package profile holds load-latency profiles: how long a visit to a service
// takes at some percentile, without its calls to others, when one instance of it
// gets a given number of visits per second. A profile belongs to a service, a
// version and an instance size; a release or a resize invalidates it.
//
// Reading order: profile.go (the data and its file), curve.go (a monotone curve
// through the data, and its inverse), measure.go (a service isolated from its
// application and loaded in the event engine); history.go and fit.go fit them to a
// history. Then live monitoring: window.go (observations of a service in a time
// window), stretch.go (one number for the change of a curve), monitor.go with
// spread.go (the test), change.go (its result).
package profile
