//go:build !amd64 || purego

package gemm

// vectorKernels has nothing to offer on this architecture.
func vectorKernels() *kernels { return nil }
