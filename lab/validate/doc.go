// Package validate compares the simulator with measured data and reports its errors.
//
// There are four measurements: processes under a kernel CPU quota (cfs.go and related files;
// our own data, embedded), processes that compete for CPU by weights and quotas, in both
// engines (contention*.go; our own data, lab/data), serverless functions on one node
// (openfaas*.go) and a call graph of services behind a load generator with few connections
// (hotel*.go). The last two are third-party data and are read from a folder. Each has a fit on
// one part of the data, a model in the event engine, a report with the errors on the other
// part, and trivial predictors for comparison where there are any: a model that does not beat
// the mean has learned nothing.
//
// The fluid engine is compared with the event engine, which is the reference, over a
// published grid of steady states and a set of transients: engines.go (the comparison
// and its summary), engines_grid.go (the cells), engines_steady.go and
// engines_transient.go (one of each in both engines).
//
// Everything is deterministic from the seeds in the options.
package validate
