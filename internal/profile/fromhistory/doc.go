// Package fromhistory makes load-latency profiles out of what a history holds. It is apart from
// profiles themselves, which policies carry: histories are files.
//
// Reading order: past.go (a history as windows), fit.go (profiles from them, with their
// uncertainty).
package fromhistory
