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

	"github.com/spf13/cobra"
)

// Main runs the command line of a program and ends the process with its exit code. An interrupt
// cancels the context. An empty release means a development build.
func Main(newRoot func() *cobra.Command, release string) {
	if release != "" {
		version = release
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	args := os.Args[1:]
	if programName(os.Args[0]) == completerName {
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	code := Execute(ctx, newRoot(), args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Exit codes.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitKeep        = 3 // verdicts of evaluate and promote that are not to promote
	exitChange      = 4
	exitUndecided   = 5
	exitRefused     = 6
	exitInterrupted = 130
)

// Run is loadline without the process: it returns the exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return Execute(ctx, NewRoot(), args, stdin, stdout, stderr)
}

// Execute runs a command line and returns the exit code. Errors begin with the program's
// name.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	name := root.Name()
	err := root.ExecuteContext(ctx)
	var usage usageError
	var notBetter *notBetterError
	var verdict *verdictError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(stderr, "%s: %s\n", name, interruption(err))
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return exitUsage
	case errors.As(err, &notBetter):
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return notBetter.code
	case errors.As(err, &verdict) && err.Error() == verdict.Error(): // alone: the verdict was printed
		return exitCodes[verdict.kind]
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	return exitFailure
}

// usageError is a mistake on the command line, as opposed to one in a file or in the
// cluster.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// UsageError marks an error as a mistake on the command line: exit code 2.
func UsageError(err error) error { return usageError{err} }

// Usagef is a mistake on the command line: exit code 2.
func Usagef(format string, args ...any) error { return UsageError(fmt.Errorf(format, args...)) }

// interruptedError says what an interrupted command has kept and how to resume it.
type interruptedError struct{ message string }

func (e *interruptedError) Error() string { return e.message }

// Unwrap makes it a context.Canceled: exit code 130.
func (*interruptedError) Unwrap() error { return context.Canceled }

// Interruptedf is the error of a command that was interrupted and can be resumed.
func Interruptedf(format string, args ...any) error {
	return &interruptedError{fmt.Sprintf(format, args...)}
}
