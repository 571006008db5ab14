//go:build !linux

package teacher

// lowerPriority is for Linux, where threads have priorities of their own.
func lowerPriority() {}
