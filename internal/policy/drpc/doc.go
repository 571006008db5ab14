// Package drpc is DRPC: a central teacher learns to scale a whole application,
// and a tiny student for each deployment imitates it and then decides alone, from
// local state, at its own pace (Bai et al., "DRPC: Distributed reinforcement
// learning approach for scalable resource provisioning in container-based
// clusters"). This package has what teacher and students share, their learning agents
// and their decisions; package trainer has the training of both.
//
// docs/drpc.md lists the deviations from the paper and their reasons.
//
// Reading order: state.go and view.go (observations), scale.go (Algorithm 2:
// actions), reward.go (equations 1 to 3), student.go and weights.go (students),
// teacher.go and teacher_branching.go (the teacher's agents: TD3 as in the paper, or one
// of three choices for every service and axis), teacherpolicy.go (its decisions), notifier.go with visits.go and drift.go
// (Algorithm 4: when to retrain), pace.go (decision period of a student),
// forecast.go (forecasts), transport.go with inprocess.go, outbox.go and
// collector.go (experience up, weights down), snapshot.go, snapshotmaker.go and join.go
// (state of the whole application joined with students' actions, for a remote teacher),
// model.go (the model file), policy.go (the policy), archive.go (checkpoints).
package drpc
