// Package formulation formulates autoscaling as a decision problem: situations become
// named features, an agent's choice becomes a proposal, and the outcome becomes a reward.
// Training and production share it, so that a policy has the same inputs in both.
//
// Features are ratios wherever the paper that they come from allows it, so that
// one policy serves services of any size. A model file lists the features that
// it needs; an unknown name is an error.
//
// Reading order: view.go (one service in one situation), features.go (what can be
// observed of it), moves.go (what can be done), rewards.go (what it was worth),
// formulations.go and problem.go (which of these make up
// a paper's problem), unloaded.go and ground.go (what an
// application's model says beforehand), shares.go (budgets that somebody divided
// otherwise), sight.go (features alone, for who has a
// problem of another kind), model.go (a trained policy on disk),
// policy.go (a trained policy at work).
package formulation
