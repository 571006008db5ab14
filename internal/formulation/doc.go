// Package formulation is where clusters meet agents: situations become named features,
// an agent's choice becomes a proposal, and what came of it becomes a reward.
// Training, the live loop and the students share it, so that a policy sees in
// production exactly what it saw when it learned.
//
// Features are ratios wherever the paper that they come from allows it, so that
// one policy serves services of any size. A model file lists the features that
// it needs; a name that this room does not know is refused.
//
// Reading order: view.go (one service in one situation), features.go (what can be
// seen of it), moves.go (what can be done), rewards.go (what it was worth),
// formulations.go and problem.go (which of these make up
// a paper's problem), unloaded.go and ground.go (what an
// application's model says beforehand), shares.go (budgets that somebody divided
// otherwise), sight.go (features alone, for who has a
// problem of another kind), model.go (a trained policy on disk),
// policy.go (a trained policy at work).
package formulation
