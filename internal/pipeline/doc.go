// Package pipeline goes from an application's history to a policy that is proven on
// it: candidates of any method that can be trained (policy.TrainableMethods) are
// trained side by side and evaluated on held-out history together with the autoscalers
// that people run today.
//
// Reading order: subject.go and build.go (what is learned on), candidate.go (what
// is trained and how), train.go and each.go (training), run.go, folder.go and kept.go
// (what is kept of it), evaluation.go, evaluate.go, stretch.go and env2.go
// (judging), rank.go and choose.go (who is best, and whether that is worth having),
// text.go (tables).
package pipeline
