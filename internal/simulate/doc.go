// Package simulate makes one run of an application under a workload with a policy
// and an engine, and returns its result. The command line and everything that
// compares policies call it.
//
// A run can be kept in two forms, so that everything that learns from metrics can be
// compared with a cluster whose parameters are known: as a history, the same that is
// pulled from Prometheus ([RecordHistory]), and as the OpenMetrics text that Istio's
// proxies, cAdvisor and kube-state-metrics would have exposed, with the times of the
// samples ([Exposition]); Prometheus makes blocks of it ("promtool tsdb
// create-blocks-from openmetrics").
//
// Reading order: simulate.go (one run), session.go (bit by bit), engines.go, timeline.go; history.go (a run as a
// history), history_recorder.go (readings become steps), history_sums.go (what is added
// up during a step); exposition.go (a run as exposed metrics), exposition_istio.go,
// exposition_cadvisor.go and exposition_kubestate.go (one exporter each),
// exposition_buckets.go (histograms), exposition_text.go (families and series),
// exposition_latest.go (scrapes of a running one).
package simulate
