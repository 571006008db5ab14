//go:build !linux

package cli

import "time"

var processStart = time.Now()

// threadCPUTime is the time that has passed: elsewhere than on Linux a
// thread's own share is not at hand.
func threadCPUTime() time.Duration { return time.Since(processStart) }
