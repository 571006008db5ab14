// Package fromhistory fits load-latency profiles to a history. It is separate
// from package profile, which policies import, because histories are files.
//
// Reading order: past.go (a history as windows), fit.go (profiles from them, with their
// uncertainty).
package fromhistory
