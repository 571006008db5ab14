// Package scale measures Loadline with many services on a real control plane: `make scale`. Deployments have no
// pods, and Prometheus is a server of this package that answers its API from generated series, since a real one
// with the series of 10,000 services would take most of the machine. See docs/scale.md.
package scale
