// Package data has measurements of our own that are small enough to be part of the program.
// Each folder has a SOURCE.txt with method, machine, date and columns.
package data

import _ "embed"

// ContentionPairs are two servers of unequal weight on one core, one row per run.
//
//go:embed contention/pairs.csv
var ContentionPairs string

// ContentionRuns are servers that compete for CPU, one row per server and run:
// `loadline-lab measure contention` writes it.
//
//go:embed contention/runs.csv
var ContentionRuns string

// NodePredicted is what the event engine predicted of real pods before they were measured:
// `loadline-lab validate node --predict FILE` writes it.
//
//go:embed node/predicted.csv
var NodePredicted string

// NodeMeasured is what was measured of them: `make study-node` writes it.
//
//go:embed node/measured.csv
var NodeMeasured string
