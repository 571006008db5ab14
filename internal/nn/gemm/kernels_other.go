//go:build !amd64 || purego

package gemm

// vectorKernels: there are none for this architecture.
func vectorKernels() *kernels { return nil }
