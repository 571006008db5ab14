package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/loadline/loadline/internal/kube/handover"
)

// handoverFlags move control to a LoadLine and back.
type handoverFlags struct {
	takeOver, giveBack bool
	within             time.Duration
	noController       bool
}

func (f *handoverFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.takeOver, "take-over", false,
		"set the LoadLines that are named to Act, and make other autoscalers of their services inert")
	flags.BoolVar(&f.giveBack, "give-back", false, "set the LoadLines that are named to Recommend, and restore what was taken over")
	spanVar(flags, &f.within, "within", 5*time.Minute, "with --take-over and --give-back: how long to wait for the controller and KEDA")
	flags.BoolVar(&f.noController, "no-controller", false, "with --take-over and --give-back: no controller runs, do not wait for it")
}

// check the arguments: names belong to a handover.
func (f *handoverFlags) check(c *cobra.Command, args []string, apply bool) error {
	switch {
	case f.takeOver && f.giveBack:
		return Usagef("--take-over and --give-back exclude each other")
	case (f.takeOver || f.giveBack) && apply:
		return Usagef("--apply creates LoadLines: take over afterwards, when they are ready")
	case (f.takeOver || f.giveBack) && len(args) == 0:
		return Usagef("which LoadLines? loadline init --take-over NAME")
	case f.takeOver || f.giveBack:
		return nil
	case f.noController:
		return Usagef("--no-controller is for --take-over and --give-back")
	}
	return Exactly()(c, args)
}

// hand control over, LoadLine by LoadLine.
func (f *initFlags) hand(ctx context.Context, names []string, stdout io.Writer) error {
	config, namespace, err := f.configIn(f.namespace)
	if err != nil {
		return UsageError(err)
	}
	config.Timeout, config.WarningHandler = f.timeout, rest.NoWarnings{}
	c, err := connectTo(config, namespace)
	if err != nil {
		return err
	}
	for _, name := range names {
		h := handover.Handover{Client: c.client, Manager: initManager, Name: types.NamespacedName{Namespace: namespace, Name: name},
			NoController: f.handover.noController}
		result := "LoadLine %s is in control.\n"
		if f.handover.giveBack {
			h.Direction, result = handover.GiveBack, "What scaled the services of LoadLine %s before is in control again.\n"
		}
		waiting, stop := context.WithTimeout(ctx, f.handover.within)
		err := h.Run(waiting, func(sentence string) { fmt.Fprintln(stdout, sentence) })
		stop()
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			return fmt.Errorf("%w; nothing is half-done: run this again, or go back with the other flag", err)
		case err != nil:
			return err
		}
		if _, err := fmt.Fprintf(stdout, result, name); err != nil {
			return err
		}
	}
	return nil
}
