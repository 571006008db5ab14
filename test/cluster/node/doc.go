// Package node runs real containers under a real kubelet, for tests: containerd, runc and CNI plugins
// from the system's packages, the kubelet and the control plane of test/cluster.
//
// Everything runs in network, mount and process namespaces of its own (inside_linux.go), so that the
// kernel ends all of it with the test, however that ends. Cgroups have no such owner: a keeper removes
// them. node_linux.go starts the node, cgroup_linux.go reads what the kernel was told and has counted.
package node
