// Package papers runs the experiments of the papers that Loadline is built on, in the simulated
// cluster, and reports which of their claims hold there, which do not, and why.
//
// Reading order: report.go (the result of an experiment) and print.go (its text); settle.go
// (settling, convergence, rank correlation); options.go, trace.go, learn.go and trial.go
// (shared by all experiments); scalingops.go and serverless.go (one paper each); elastic.go
// with elastic_rivals.go and elastic_findings.go; drpc.go with drpc_setup.go (cluster, load and
// users), drpc_train.go, drpc_runs.go with drpc_watch.go, drpc_growth.go, drpc_forecast.go,
// drpc_tables.go and drpc_findings.go; msars.go with msars_models.go (training and choice of
// settings), msars_stream.go (streams of samples), msars_cost.go (the cost of splits) and
// msars_steer.go (the gain of TD3 by splits); studies.go (Elastic-DQN's sensitivity studies,
// one command each).
package papers
