package controller

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// contained does work for one application and returns a panic as an error: in a
// goroutine of its own it would end the process, with all other applications.
func contained(log *slog.Logger, work string, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("work panicked", "work", work, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: panic: %v", work, p)
		}
	}()
	return do()
}
