// Package papers runs the experiments of the papers that Loadline is built on, in
// our simulated cluster, and says what holds there, what does not, and why.
//
// Reading order: report.go (what an experiment comes to) and print.go (how people
// see it); settle.go (when something has settled, converged, or ranks alike);
// options.go, trace.go, learn.go and trial.go (what all experiments share);
// scalingops.go, serverless.go and elastic.go (one paper each); msars.go with
// msars_pupils.go (who learns, and how settings are chosen), msars_stream.go (what they
// follow) and msars_cost.go (what splits cost); studies.go (Elastic-DQN's sensitivity
// studies, one command each).
package papers
