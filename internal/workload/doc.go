// Package workload is request rates over time: their sources (public traces, plain CSV,
// generators) and how they are applied to an application.
//
// Reading order: [Workload] (workload.go) is rates in bins; [Workload.For]
// (load.go) binds one to an application's kinds of requests; reshape.go cuts
// and scales; [Open] (open.go) takes what a command line says and finds the
// file or generator; [Read] (read.go) streams a trace in one of the layouts of
// formats.go, one file each; [Parse] (spec.go) builds generators from text;
// [Profile] (profile.go) turns utilisation into requests; [AppFromCallGraph]
// (callgraph.go) turns call traces into an application.
//
// A trace of anything but request rates is never used as such silently: utilisation needs a
// [Profile], normalised rates need a peak. All faults of a file are reported at once, as
// [Faults].
package workload
