// Package pipeline goes from an application's history to a policy that is evaluated on
// it: candidates of any method that can be trained (policy.TrainableMethods) are
// trained side by side and evaluated on held-out history together with the autoscalers
// that people run today.
//
// Reading order: subject.go and build.go (the training data), candidate.go (what
// is trained and how), train.go and each.go (training), run.go, folder.go and kept.go
// (what is kept of it), evaluation.go, evaluate.go, stretch.go, validate.go
// and env2.go (evaluation), rank.go and choose.go (ranking and choice), text.go (tables).
package pipeline
