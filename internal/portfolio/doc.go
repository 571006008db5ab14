// Package portfolio watches a promoted deployment: whether the application still behaves as what
// the deployment was judged on, and what the deployments that lost would cost by now. Nothing
// here changes what runs. All estimates are those of the twin.
//
// Reading order: judged.go (what a deployment was judged on, as promote writes it), drift.go (the
// monitor), sample.go (one comparison of a service with the twin), finding.go (when a measure
// deviates), text.go (the result in words), load.go (the load of the last day), estimate.go (what
// deployments would have cost under it), standing.go (when another one is ahead).
package portfolio
