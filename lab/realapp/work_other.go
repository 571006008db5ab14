//go:build !linux

package realapp

import (
	"errors"
	"time"
)

type held struct{}

var errLinux = errors.New("a real application measures the CPU time of its threads, and needs Linux")

// Prepare needs Linux.
func Prepare() error { return errLinux }

func wait(d time.Duration) { time.Sleep(d) }

func hold(int64) (*held, error) { return nil, errLinux }

func (*held) free() {}

func work(time.Duration, int64) (*held, error) { return nil, errLinux }

func burnOn(float64, time.Duration) {}
