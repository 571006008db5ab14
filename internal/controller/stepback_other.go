//go:build !linux

package controller

// stepBack is for Linux, where threads have priorities of their own.
func stepBack() {}
