// Package reserve sizes the free room on nodes that the applications of a cluster
// share: shared.go combines what each of them wants, pods.go expresses it in pods and
// in money. docs/adr/0036-one-reserve-for-a-cluster.md has the reasons.
package reserve
