package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/train"
)

// This file is what lab/cli uses of this package: the commands that both programs have,
// and how a command reports errors, progress and results.

// ComparisonCommands are the commands that loadline and loadline-lab have in common. They
// know the policies that are registered when they are made.
func ComparisonCommands() []*cobra.Command {
	return []*cobra.Command{newSimulate(), newBench(), newCalibrate(), newReport(), newModel()}
}

// UsageError marks an error as a mistake on the command line: exit code 2.
func UsageError(err error) error { return usageError{err} }

// Usagef is a mistake on the command line: exit code 2.
func Usagef(format string, args ...any) error { return usagef(format, args...) }

// interruptedError says what an interrupted command has kept and how to resume it.
type interruptedError struct{ message string }

func (e *interruptedError) Error() string { return e.message }

// Unwrap makes it a context.Canceled: exit code 130.
func (*interruptedError) Unwrap() error { return context.Canceled }

// Interruptedf is the error of a command that was interrupted and can be resumed.
func Interruptedf(format string, args ...any) error {
	return &interruptedError{fmt.Sprintf(format, args...)}
}

// Exactly accepts as many arguments as there are names, which describe them.
func Exactly(names ...string) cobra.PositionalArgs { return exactly(names...) }

// Subcommands refuses a word that is not a subcommand, and suggests the nearest one.
func Subcommands(c *cobra.Command, args []string) error { return subcommands(c, args) }

// CheckWritable refuses an output path that cannot be written, before any work is done.
func CheckWritable(flag, path string) error { return checkWritable(flag, path) }

// WriteIndented writes a value as --output json does.
func WriteIndented(w io.Writer, value any) error { return writeIndented(w, value) }

// Screen is the width of the terminal, and whether to use colours.
func Screen(out io.Writer) (width int, colour bool) { return screen(out) }

// ThreadCPUTime is the processor time that this thread has used. The caller stays on its
// thread.
func ThreadCPUTime() time.Duration { return threadCPUTime() }

// Build names this build of the program, so that results of another one are recognised.
func Build() string { return program() }

// TrainedBy is what a model's card says of the program that trained it.
func TrainedBy() string { return "loadline " + version }

// Percent of a share; "-" if it is not known.
func Percent(share float64) string { return percent(share) }

func percent(share float64) string {
	if math.IsNaN(share) {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

// Progress shows on stderr how far a command is.
type Progress struct{ bar *progress }

// NewProgress shows the progress of what is named.
func NewProgress(w io.Writer, what string) Progress { return Progress{newProgress(w, what)} }

// At shows that a share of the work is done, if it is time to.
func (p Progress) At(share float64) { p.bar.at(share) }

// Stages is At for work of several parts, which it names.
func (p Progress) Stages() func(share float64, part string) { return p.bar.stages() }

// From is the share that was done before the command began.
func (p Progress) From(share float64) { p.bar.from = share }

// Describe changes what is shown to be under way.
func (p Progress) Describe(what string) { p.bar.what = what }

// Done removes the bar.
func (p Progress) Done() { p.bar.done() }

// ImitationColumn is the last column that all learning curves have in common; empty where
// no policy imitates another.
const ImitationColumn = imitationColumn

// WriteCurve writes a learning curve so far to a CSV file, if one is asked for: the columns
// of every curve, and then its own.
func WriteCurve[P any](path string, curve []P, own []string, row func(P) (train.Point, []string)) error {
	return writeCurve(path, curve, own, row)
}

// CurveNumber is a number as learning curves have it.
func CurveNumber(v float64) string { return logged(v) }

// NoGain is a warning that a trained policy does no better than changing nothing; empty if
// it does.
func NoGain(unchanged, trained train.Result) string { return idle(unchanged, trained) }
