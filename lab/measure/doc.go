// Package measure measures real server processes that compete for CPU, so that the simulated
// cluster can be compared with a kernel. It needs Linux and root.
//
// A run (plan.go) has one or more servers (server.go), each a process in a cgroup of its own
// (cgroup_linux.go) with the weight, quota and cores that a kubelet would set. An open-loop
// load generator (load.go) on a core of its own sends them requests, and contention_linux.go
// reads what the kernel has charged. The result is a table (table.go) that `loadline-lab
// validate contention` reads.
package measure
