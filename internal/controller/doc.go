// Package controller runs Loadline in a cluster: one loop for each LoadLine. Only the
// process that holds the lease decides; the others are on standby and answer KEDA from
// the status of the resources.
//
// Reading order: controller.go (which applications there are), runner.go (start,
// restart and stop of one), pass.go (one pass from observing to publishing, also for
// once.go), fence.go, shard.go and confirm.go (a process that does not decide writes nothing),
// contain.go (a panic concerns one application), catchup.go (what a new process must
// know), assemble.go (what an application consists of), cluster.go with apply.go (the
// loop's cluster), hold.go (services that must not be changed now), round.go (sizes in
// millicores and MiB), desired.go (the desired state of services), brownout.go and
// release.go (brownouts that nothing else ends), manual.go (changes by others),
// sources.go with shares.go (Prometheus and its credentials), models.go with read.go (the policy),
// class.go and reserve.go (what applications share, and its reserve), view.go,
// status.go, conditions.go and publish.go (the status), events.go, notices.go (what other systems are told), metrics.go,
// board.go (answers to KEDA), standby.go, clock.go.
//
// Students of a teacher: fleet.go with fleetname.go and fleetjoin.go (the fleet of an
// application), fleetmember.go and experience.go (which decisions were applied),
// fleetteacher.go with fleetscenario.go (the teacher in this process), fleetstatus.go,
// fleetmetrics.go.
package controller
