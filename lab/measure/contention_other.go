//go:build !linux

package measure

import (
	"context"
	"errors"
	"io"
)

// Options of a measurement.
type Options struct {
	Server, Awake []string
	Seed          uint64
	Stderr        io.Writer
}

// errLinux is returned on other systems.
var errLinux = errors.New("the measurement uses cgroups and needs Linux")

// Contention needs Linux.
func Contention(context.Context, Run, Options) ([]Result, error) { return nil, errLinux }

// Serve needs Linux.
func Serve(io.Reader, io.Writer) error { return errLinux }

// StayAwake needs Linux.
func StayAwake(io.Reader, io.Writer) error { return errLinux }
