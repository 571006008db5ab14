// Package bench compares policies: policies x applications x workloads x
// perturbations x seeds, each a run of its own, kept on disk as it ends.
//
// No policy is compared with a weak baseline. Rules are calibrated: the search finds the
// setting with the least core-hours and at most 1 % of the requests over the SLO, on data
// that the comparison is not made on. Methods that learn are trained: each gets the same
// number of environment steps and the same number of settings to choose from, and models
// are kept in a folder by a key of everything that they depend on, so an interrupted
// comparison resumes.
//
// Several processes may share the folder: they claim what they do (internal/shard), and each ends with
// the whole.
//
// Reading order: record.go (what is kept of a run), matrix.go and suites.go (what is
// compared), run.go (the comparison) with prepare.go, one.go and store.go, key.go (the
// identity of a run), aggregate.go, interval.go and text.go (the table). Then calibrate.go
// (the search) with calibrate_space.go (what may be set), calibrate_rank.go (what is
// better), calibrate_evaluate.go (trying) and calibrate_oracle.go (plans from the load). Then
// oracle.go (the search for the cheapest schedule) with oracle_moves.go (what it changes) and
// oracle_run.go (its runs), and bound.go (the lower bound). Then model_task.go (one training), model_trained.go (its record),
// model_folder.go with model_key.go and model_profiles.go (what is kept), model_tune.go
// (choosing a setting).
package bench
