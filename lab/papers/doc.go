// Package papers runs the experiments of the papers that Loadline is built on, in
// our simulated cluster, and says what holds there, what does not, and why.
//
// Reading order: report.go (what an experiment comes to) and print.go (how people
// see it); settle.go (when something has settled, converged, or ranks alike);
// options.go, trace.go, learn.go and trial.go (what all experiments share);
// scalingops.go and serverless.go (one paper each); elastic.go with elastic_rivals.go
// and elastic_findings.go; drpc.go with drpc_setup.go (cluster, load and users),
// drpc_train.go, drpc_runs.go with drpc_watch.go, drpc_growth.go, drpc_forecast.go,
// drpc_tables.go and drpc_findings.go; msars.go with msars_models.go (what is trained, and
// how settings are chosen), msars_stream.go (what they follow), msars_cost.go (what
// splits cost) and msars_steer.go (what TD3 gains by them); studies.go (Elastic-DQN's
// sensitivity studies, one command each).
package papers
