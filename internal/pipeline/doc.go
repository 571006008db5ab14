// Package pipeline goes from an application's past to a policy that is proven on
// it: candidates are trained side by side, each in its paper's own way, and then
// judged together with the autoscalers that people run today on the part of the
// past that none of them has seen.
//
// Reading order: subject.go and build.go (what is learned on), candidate.go (who is
// trained and how), train.go and each.go (training), run.go, folder.go and kept.go
// (what is kept of it), evaluation.go, evaluate.go, stretch.go and env2.go
// (judging), rank.go and choose.go (who is best, and whether that is worth having),
// text.go (tables).
package pipeline
