//go:build !linux

package cli

import "time"

var processStart = time.Now()

// ThreadCPUTime is the time that has passed: elsewhere than on Linux a
// thread's own share is not at hand.
func ThreadCPUTime() time.Duration { return time.Since(processStart) }
