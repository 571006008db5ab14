// Package pipeline goes from an application's history to a verdict on what to run: candidates of any
// trainable method (policy.TrainableMethods) are trained side by side on the first part of the
// history, one is chosen on the second, and its deployment is judged on the third together with
// today's autoscalers.
//
// Reading order: subject.go, build.go and guessed.go (the training data), candidate.go (candidates),
// train.go and each.go (training), run.go, folder.go and kept.go (storage), again.go (a later history for a run), evaluation.go (the
// result), evaluate.go (the table of contents), deployment.go (what is judged), stretch.go,
// selection.go, openings.go and judge.go (the two later parts), figures.go and cost.go (what a run
// is worth), compare.go (when a difference is clear), verdict.go (what follows), rank.go, env2.go,
// text.go and lead.go (tables and the page).
package pipeline
