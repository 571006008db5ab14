// Package sandbox is two copies of one simulated cluster side by side: the same application, load,
// seed and faults, one scaled by a plain rule, one by Loadline's planner behind the guards of
// production. It advances bit by bit, takes commands between the bits, and describes what happens as
// JSON. It has no clock, no files and no network: the page of the sandbox paces it, in the browser or
// over loopback.
//
// The same settings, bits and commands give the same states.
//
// Reading order: settings.go (what is simulated), load.go (the load and its patterns), sandbox.go
// (both sides, and the commands), side.go (one of them), feed.go (its decisions in words), state.go
// (what comes out), messages.go (as JSON).
package sandbox
