package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/advice"
	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/history"
)

type rightsizeFlags struct {
	history, name, prices, out string
	namespace, container       string
	objectives, without        []string
	seed                       uint64
	output                     Format
}

func newRightsize() *cobra.Command {
	var f rightsizeFlags
	c := &cobra.Command{
		Use:   "rightsize --history DIR",
		Short: "Propose CPU and memory requests and limits from a history, with the patch to apply",
		Long: fmt.Sprintf(`Compares the requests and limits of each service with what it needs at the SLO, and
prints the answer first: what changes and what that saves per month. Nothing is trained.

CPU request: the %.0fth percentile over time of what a pod uses, divided by the target of
its HorizontalPodAutoscaler, if it has one on CPU. CPU limit: kept, doubled or lifted by
how many of its periods were throttled. Memory: the %.0fth percentile of the working set
and %.0f %%, never less than was in use; more where pods were killed at their limit.

A twin is then fitted to the history and simulated request by request, with the
autoscaler that is in use today, on nodes of which others use and request 70 %%. If more
than 0.75 %% of the requests are over the SLO, the CPU requests are raised.

Money is for 730 hours, by the larger of request and use (docs/cluster.md has the prices).
What the history does not have is listed and not guessed: without CPU, replicas, requests
or response times of a service nothing is proposed for its CPU.

--output yaml prints strategic-merge patches of Deployments, each with its kubectl patch
command. Services
are taken for Deployments of the same name, each with one container of that name, or
--container. docs/rightsize.md has the rules.`, 100*advice.RequestShare, 100*advice.MemoryShare, 100*advice.MemoryMargin),
		Example: `  loadline history pull --prometheus http://localhost:9090 --namespace shop --since 14d -o past
  loadline rightsize --history past --objective "99% < 300ms"
  loadline rightsize --history past --objective "99% < 300ms" --prices core=0.04,gib=0.005,currency=EUR
  loadline rightsize --history past --objective "99% < 300ms" --output yaml -o patches.yaml`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.history, "history", "", "folder of an application's history (see history)")
	flags.StringArrayVar(&f.objectives, "objective", nil, `"99% < 250ms", or "KIND: 99% < 250ms" for one kind of request; repeatable`)
	flags.StringVar(&f.prices, "prices", "", "core=0.03,gib=0.004,currency=EUR per hour, or a YAML file of them")
	flags.StringArrayVar(&f.without, "without", nil, "leave this service out; repeatable")
	flags.StringVar(&f.name, "name", "", "of the application (the history's namespace, or its folder's name)")
	flags.StringVar(&f.namespace, "namespace", "", "of the patches (the history's)")
	flags.StringVar(&f.container, "container", "", "whose sizes are patched (the service's name)")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of all random numbers")
	f.output.Add(flags)
	OutVar(flags, &f.out, "write the result to this file instead of printing it")
	return c
}

func (f *rightsizeFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	h, err := history.Read(f.history, history.Options{})
	if err != nil {
		return err
	}
	if o.Name == "" {
		o.Name = nameOf(h, f.history)
	}
	bar := NewProgress(stderr, "sizing "+f.history)
	o.Progress = bar.At
	r, err := advice.Rightsize(ctx, h, o)
	bar.Done()
	if err != nil {
		return fmt.Errorf("size %s: %w", f.history, err)
	}
	if f.out != "" {
		return atomicfile.Write(f.out, func(w io.Writer) error { return f.print(w, h, r) })
	}
	return f.print(stdout, h, r)
}

// options are the flags, or every fault of them.
func (f *rightsizeFlags) options() (advice.RightsizeOptions, error) {
	o := advice.RightsizeOptions{Name: f.name, Without: f.without, Seed: f.seed}
	faults := []error{CheckWritable("out", f.out)}
	if f.history == "" {
		faults = append(faults, Usagef("--history is missing: the folder of a history (see history)"))
	}
	for _, text := range f.objectives {
		objective, err := parseObjective(text)
		if err != nil {
			faults = append(faults, Usagef("--objective %q: %v", text, err))
		}
		o.Objectives = append(o.Objectives, objective)
	}
	if f.prices != "" {
		var err error
		o.Prices, err = readPrices(f.prices)
		faults = append(faults, err)
	}
	return o, errors.Join(faults...)
}

func (f *rightsizeFlags) print(w io.Writer, h *history.History, r *advice.Rightsizing) error {
	switch f.output.String() {
	case "json":
		return f.output.Encode(w, r)
	case "yaml":
		namespace := f.namespace
		if namespace == "" {
			namespace = h.Manifest.Namespace
		}
		documents := r.Documents(advice.Target{Namespace: namespace, Container: f.container})
		if len(documents) == 0 {
			_, err := fmt.Fprintf(w, "# %s\n", r.Sentence())
			return err
		}
		return advice.Write(w, documents)
	}
	if err := r.WriteText(w); err != nil || !r.Changed() {
		return err
	}
	_, err := fmt.Fprintf(w, "The patches: loadline rightsize --history %s%s --output yaml\n", f.history, f.repeated())
	return err
}

// repeated are the flags that give the same proposal again.
func (f *rightsizeFlags) repeated() string {
	text := ""
	for _, o := range f.objectives {
		text += fmt.Sprintf(" --objective %q", o)
	}
	for _, s := range f.without {
		text += " --without " + s
	}
	if f.prices != "" {
		text += fmt.Sprintf(" --prices %q", f.prices)
	}
	return text
}
