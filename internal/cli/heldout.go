package cli

import (
	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/twin"
)

// heldOutVar adds --held-out, and its deprecated former name --unseen, which help does
// not list. It prints no warning: cobra would write it to stdout, into the JSON.
func heldOutVar(flags *pflag.FlagSet, share *float64, usage string) {
	flags.Float64Var(share, "held-out", twin.DefaultHeldOut, usage)
	flags.Float64Var(share, "unseen", twin.DefaultHeldOut, "deprecated: use --held-out")
	if err := flags.MarkHidden("unseen"); err != nil {
		panic(err) // the flag was added above
	}
}
