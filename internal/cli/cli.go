// Package cli is the command line, one file per verb.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main runs the program and ends the process with its exit code. An interrupt cancels
// the context.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Exit codes.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitNotBetter   = 3 // a policy that does not beat the rule was not promoted
	exitInterrupted = 130
)

// Run is the program without the process: it returns the exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var usage usageError
	var notBetter *notBetterError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "loadline: "+interruption(err))
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "loadline: %v\n", err)
		return exitUsage
	case errors.As(err, &notBetter):
		fmt.Fprintf(stderr, "loadline: %v\n", err)
		return exitNotBetter
	}
	fmt.Fprintf(stderr, "loadline: %v\n", err)
	return exitFailure
}

// usageError is a mistake on the command line, as opposed to one in a file or
// in the world.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }
