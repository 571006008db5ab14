// Package chaos runs Loadline on a real control plane under a seeded schedule of faults, records
// what happened, and checks the record afterwards.
//
// plan.go is the schedule: a pure function of the seed and the length. record.go is what a run
// leaves: what was broken and when, every change of replicas that the API server has stored,
// every write that a Loadline process has sent (seen by a proxy between it and the API server),
// its decision logs, the leases, the requests by the player, and Loadline's own metrics. check.go
// and its neighbours hold a record to the promises of docs/guard.md; they are pure, and tested with planted faults.
// run_test.go runs the schedule.
//
// No check depends on how fast the machine is. The instants of a fault are noted when it is in
// full effect and before it is undone, so that what is asserted of it holds in between; a lag is counted in passes of
// Loadline, not in seconds.
package chaos
