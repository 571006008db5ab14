// Package controller is Loadline at work in a cluster: one loop for each LoadLine,
// over a real cluster's two ends. Only the process that holds the lease decides;
// the others are ready to go on, and answer KEDA from the resources' status.
//
// Reading order: controller.go (which applications there are), runner.go (the life
// of one), assemble.go (what it is made of), ends.go with apply.go (the loop's
// cluster), still.go (services that are left alone for now), told.go (what services
// have been told to be), manual.go (what a person changed), sources.go (Prometheus,
// and who lets us in), models.go (who decides) with read.go and employ.go,
// status.go and conditions.go (what is told of it), events.go, metrics.go, board.go
// (what KEDA is answered), standby.go, clock.go, once.go (one pass, for people who try
// it).
//
// Students of a teacher: fleet.go with fleetname.go (where they meet), member.go
// and experience.go (what of their decisions was done), lesson.go with world.go and
// stepback_linux.go (the teacher in this process), fleetstatus.go, fleetmetrics.go.
package controller
