// Package drpc is DRPC: a central teacher learns to scale a whole application,
// and a tiny student for each deployment imitates it and then decides alone, from
// local state, at its own pace (Bai et al., "DRPC: Distributed reinforcement
// learning approach for scalable resource provisioning in container-based
// clusters"). This room is what teacher and students share and what students do;
// room teacher is what the teacher learns with, room school where both practise.
//
// Where it deviates from the paper stands in docs/drpc.md, with the reasons.
//
// Reading order: state.go and view.go (what is seen), scale.go (Algorithm 2: what is
// done), reward.go (equations 1 to 3), student.go and weights.go (who decides),
// mind.go (a teacher's network at work), notifier.go with novelty.go and drift.go
// (Algorithm 4: when to go back to school), pace.go (how often a student decides),
// foresight.go (forecasts), transport.go with inprocess.go, outbox.go and
// collector.go (experience up, weights down), scene.go, watcher.go and join.go (the
// whole application beside what students did, for a teacher elsewhere), model.go (all
// of it on disk), policy.go (all of it at work), archive.go (what can be saved and
// resumed).
package drpc
