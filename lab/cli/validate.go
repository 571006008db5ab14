package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/cli"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/lab/validate"
)

// validations in the order in which they are printed.
var validations = []string{"cfs", "contention", "node", "neighbours", "openfaas", "hotel"}

func newValidate() *cobra.Command {
	var data, predict string
	var output cli.Format
	c := &cobra.Command{
		Use:   "validate [cfs|contention|node|neighbours|openfaas|hotel]",
		Short: "Compare the simulator with measured data",
		Long: `Compares the simulator with measurements: the fitted parameters, the errors on data
that was not fitted, and trivial predictors as baselines:

  cfs         processes under a kernel CPU quota (our own data, built in; seconds)
  contention  processes that compete for CPU, in both engines (our own data, built in)
  node        real pods under a kubelet, as predicted before they were measured (built in)
  neighbours  how much the CPU of production machines varies, and that of simulated ones
  openfaas    serverless functions on one node (about a minute)
  hotel       a call graph behind a load generator with few connections (seconds)

Without a name, all of them. The last three are public data sets that must be in the
folder --data; docs/validation.md names their sources.`,
		Example: `  loadline-lab validate cfs
  loadline-lab validate hotel --data ../shared/data/validation --output json`,
		Args: func(c *cobra.Command, args []string) error { return oneOf(c, args, validations) },
		RunE: func(c *cobra.Command, args []string) error {
			if predict != "" {
				if !slices.Equal(args, []string{"node"}) {
					return cli.Usagef("--predict is for the name node only, got %q", args)
				}
				return atomicfile.Write(predict, validate.PredictNode)
			}
			return runValidations(c.Context(), c.OutOrStdout(), args, data, &output)
		},
	}
	c.Flags().StringVar(&data, "data", "../shared/data/validation", "folder of the measured data that is not built in")
	c.Flags().StringVar(&predict, "predict", "", "for node: write what the event engine predicts to this file, before it is measured")
	output.Add(c.Flags())
	return c
}

// oneOf accepts at most one argument, out of the known ones.
func oneOf(c *cobra.Command, args, known []string) error {
	if len(args) > 1 {
		return cli.Usagef("%s takes one name at most, got %q", c.CommandPath(), args)
	}
	for _, arg := range args {
		if !slices.Contains(known, arg) {
			return cli.Usagef("%s: unknown name %q%s", c.CommandPath(), arg, suggest.Hint(arg, known))
		}
	}
	return nil
}

// textWriter is implemented by every report.
type textWriter interface{ WriteText(io.Writer) error }

// runValidations prints the reports. Without its data a report is skipped with a message if all
// were requested, and an error if it was requested by name.
func runValidations(ctx context.Context, w io.Writer, names []string, data string, output *cli.Format) error {
	all := len(names) == 0
	if all {
		names = validations
	}
	reports := map[string]textWriter{}
	for i, name := range names {
		report, err := validation(ctx, name, data)
		if all && errors.Is(err, validate.ErrNoData) {
			if !output.Structured() {
				fmt.Fprintf(w, "\n%s: skipped: %v\n", name, err)
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("validate %s: %w", name, err)
		}
		reports[name] = report
		if !output.Structured() {
			if i > 0 {
				fmt.Fprintln(w)
			}
			if err := report.WriteText(w); err != nil {
				return err
			}
		}
	}
	if !output.Structured() {
		return nil
	}
	return output.Encode(w, reports)
}

func validation(ctx context.Context, name, data string) (textWriter, error) {
	switch name {
	case "cfs":
		return validate.CFS(ctx, validate.DefaultCFS)
	case "contention":
		return validate.Contention(ctx, validate.DefaultContention)
	case "node":
		return validate.Node(ctx)
	case "neighbours":
		return validate.Neighbours(ctx, validate.NeighboursOptions{Data: data})
	case "openfaas":
		o := validate.DefaultOpenFaaS
		o.Data = data
		return validate.OpenFaaS(ctx, o)
	default:
		o := validate.DefaultHotel
		o.Data = data
		return validate.Hotel(ctx, o)
	}
}
