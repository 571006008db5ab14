// Package formulation formulates autoscaling as a decision problem: situations become
// named features, an agent's choice becomes a proposal, and the outcome becomes a reward.
// Training and production share it, so that a policy has the same inputs in both.
//
// Features are ratios wherever the paper that they come from allows it, so that
// one policy serves services of any size. A model file lists the features that
// it needs; an unknown name is an error.
//
// Reading order: view.go (one service in one situation), features.go (observations),
// moves.go (actions), rewards.go (rewards), formulations.go and problem.go (the papers'
// problems made of these), unloaded.go and topology.go (what an application's model says
// before measurements), shares.go (given parts of the SLO), featureset.go (features alone,
// for methods with actions and rewards of their own), model.go (the model file),
// policy.go (the policy).
package formulation
