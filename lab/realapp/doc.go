// Package realapp plays an application model with real processes, so that the simulated cluster
// and the product can be compared with real containers. It needs Linux.
//
// A Server (server.go) is one replica of one service: it has workers and a backlog (gate.go), burns
// the CPU time of each visit, holds memory (memory_linux.go), waits, calls its callees over HTTP
// (visit.go) and exposes what applications usually expose (exposition.go). Objects (objects.go) are
// the Deployments and Services of a whole application. Generator (generator.go) sends users'
// requests open-loop.
package realapp
