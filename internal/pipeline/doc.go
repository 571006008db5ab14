// Package pipeline goes from an application's history to an evaluated policy: candidates of any
// trainable method (policy.TrainableMethods) are trained side by side and evaluated on held-out
// history together with today's autoscalers.
//
// Reading order: subject.go and build.go (the training data), candidate.go (candidates),
// train.go and each.go (training), run.go, folder.go and kept.go (storage), evaluation.go,
// evaluate.go, stretch.go, validate.go and env2.go (evaluation), rank.go and choose.go (ranking
// and choice), text.go (tables).
package pipeline
