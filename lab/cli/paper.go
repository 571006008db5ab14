package cli

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/cli"
	"github.com/loadline/loadline/internal/jobs"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/internal/workload"
	"github.com/loadline/loadline/lab/papers"
)

// experimentFlags are what papers and their studies share.
type experimentFlags struct {
	options   papers.Options
	data, out string
	output    cli.Format
	on        cli.OnFlags
}

func (f *experimentFlags) add(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.IntVar(&f.options.Seeds, "seeds", 5, "runs of each case, each with its own seed")
	flags.Uint64Var(&f.options.Seed, "seed", 1, "the first seed")
	flags.IntVar(&f.options.Steps, "steps", 0, "training steps of each learned policy (as in the experiment)")
	flags.DurationVar(&f.options.Length, "length", 0, "of each run in the event engine (as in the experiment)")
	flags.IntVar(&f.options.Workers, "parallel", runtime.GOMAXPROCS(0), "parallel runs; figures do not depend on it")
	flags.StringVar(&f.data, "data", "../shared/data", "folder of the public traces; an absent one is replaced by a generated load")
	f.output.Add(flags, "markdown")
	cli.OutVar(flags, &f.out, "also write text, Markdown and JSON to this folder")
	f.on.Add(flags)
}

func newPaper() *cobra.Command {
	var f experimentFlags
	c := &cobra.Command{
		Use:   "paper PAPER",
		Short: "Run a paper's experiment in the simulated cluster and compare the figures",
		Long: `Runs the experiment of one of the papers that Loadline is built on in our simulated
cluster and prints the paper's figures next to ours: which claims hold, which do not,
and why. Final figures come from the event engine, with seeds and 95 % intervals;
every learned policy has the same number of training steps and tuning trials. The
same seeds give the same figures, except for training times.

With --on kubernetes the pods of an Indexed Job share the trainings of drpc, msars and
elastic-dqn's rivals and the figures of serverless; what is not kept in the folder each of
them does again. With --shard I/N several processes share the folder.

Papers (times on two idle cores with 5 seeds):
` + experimentHelp(papers.Papers()),
		Example: `  loadline-lab paper scaling-ops
  loadline-lab paper elastic-dqn --seeds 10 --out out/papers
  loadline-lab paper serverless --output json

  # Trained models are saved in the folder: if interrupted, the same command resumes
  loadline-lab paper drpc --out out/papers
  loadline-lab paper drpc --seeds 2 --steps 2000 --length 1h --out out/quick`,
		Args: cli.Exactly("a paper: " + strings.Join(experimentNames(papers.Papers()), ", ")),
		RunE: func(c *cobra.Command, args []string) error {
			e, err := experimentNamed("paper", args[0], papers.Papers())
			if err != nil {
				return err
			}
			return f.run(c.Context(), e, cli.Errand{Args: []string{"paper", e.Name}, Flags: c.Flags()}, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f.add(c.Flags())
	return c
}

// newNamedStudies are Elastic-DQN's studies, commands of study.
func newNamedStudies() []*cobra.Command {
	var all []*cobra.Command
	for _, e := range papers.Studies() {
		f := &experimentFlags{}
		c := &cobra.Command{
			Use:   e.Name,
			Short: "Elastic-DQN's study: " + e.About,
			Long: `Trains elastic-dqn on the cluster trace and prints our figures next to the paper's:
` + e.About + `.

` + papers.Convergence,
			Example: "  loadline-lab study " + e.Name + " --seeds 5",
			Args:    cli.Exactly(),
			RunE: func(c *cobra.Command, _ []string) error {
				return f.run(c.Context(), e, cli.Errand{Args: []string{"study", e.Name}, Flags: c.Flags()}, c.OutOrStdout(), c.ErrOrStderr())
			},
		}
		f.add(c.Flags())
		all = append(all, c)
	}
	return all
}

func experimentHelp(all []papers.Experiment) string {
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "  %-14s %s\n", e.Name, e.About)
	}
	return b.String()
}

func experimentNames(all []papers.Experiment) []string {
	var names []string
	for _, e := range all {
		names = append(names, e.Name)
	}
	return names
}

func experimentNamed(what, name string, all []papers.Experiment) (papers.Experiment, error) {
	for _, e := range all {
		if e.Name == name {
			return e, nil
		}
	}
	return papers.Experiment{}, cli.Usagef("unknown %s %q%s", what, name, suggest.Hint(name, experimentNames(all)))
}

func (f *experimentFlags) run(ctx context.Context, e papers.Experiment, errand cli.Errand, stdout, stderr io.Writer) error {
	if err := f.options.Validate(); err != nil {
		return cli.UsageError(err)
	}
	err := f.on.Check()
	if err != nil {
		return err
	}
	if f.out == "" && (f.on.Shared() || f.on.Elsewhere()) {
		return cli.Usagef("--out must name a folder, for what several processes make")
	}
	if f.options.Trace, err = publicTrace(f.data, papers.GoogleFile, papers.ReadGoogle); err != nil {
		return err
	}
	if f.options.Alibaba, err = publicTrace(f.data, papers.AlibabaFile, papers.ReadAlibaba); err != nil {
		return err
	}
	if f.on.Elsewhere() {
		if err := f.elsewhere(ctx, errand, stderr); err != nil {
			return err
		}
	}
	f.options.Shard = f.on.Part
	forget, err := f.keepModels()
	if err != nil {
		return err
	}
	defer forget()
	bar := cli.NewProgress(stderr, e.Name)
	f.options.Progress, f.options.Now, f.options.CPUTime = bar.At, time.Now, cli.ThreadCPUTime
	report, err := e.Run(ctx, f.options)
	bar.Done()
	if err != nil {
		return f.kept(err)
	}
	if f.on.Shared() { // the command without --shard collects
		return nil
	}
	if f.out != "" {
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return err
		}
		for ending, write := range map[string]func(io.Writer) error{
			"txt": report.WriteText, "md": report.WriteMarkdown, "json": report.WriteJSON,
		} {
			if err := atomicfile.Write(filepath.Join(f.out, e.Name+"."+ending), write); err != nil {
				return err
			}
		}
	}
	text := report.WriteText
	if f.output.String() == "markdown" {
		text = report.WriteMarkdown
	}
	return f.output.Write(stdout, report, text)
}

// elsewhere trains and measures on a cluster what can be kept; the rest is done here, too.
func (f *experimentFlags) elsewhere(ctx context.Context, e cli.Errand, stderr io.Writer) error {
	models := []jobs.Path{{Here: filepath.Join(f.out, modelsFolder), There: "job-results/" + modelsFolder}}
	e.Except, e.More = []string{"out", "data"}, []string{"--out=job-results", "--data=job-data"}
	e.Earlier, e.Results = models, models
	for _, name := range []string{papers.GoogleFile, papers.AlibabaFile} {
		here := filepath.Join(f.data, filepath.FromSlash(name))
		if _, err := os.Stat(here); err == nil {
			e.Inputs = append(e.Inputs, jobs.Path{Here: here, There: "job-data/" + name})
		}
	}
	return f.on.Run(ctx, e, stderr)
}

const modelsFolder = "models"

// keepModels sets where trained models are saved: in the folder of the results, so that
// an interrupted run can resume from them, or in a temporary folder.
func (f *experimentFlags) keepModels() (forget func(), err error) {
	f.options.Program = cli.Build()
	if f.out != "" {
		f.options.Models = filepath.Join(f.out, modelsFolder)
		return func() {}, nil
	}
	if f.options.Models, err = os.MkdirTemp("", "loadline-models-"); err != nil {
		return nil, err
	}
	return func() { os.RemoveAll(f.options.Models) }, nil
}

// kept is the error of an interrupted experiment, with what it can resume from.
func (f *experimentFlags) kept(err error) error {
	models, _ := filepath.Glob(filepath.Join(f.options.Models, "*.safetensors"))
	if f.out == "" || len(models) == 0 || !errors.Is(err, context.Canceled) {
		return err
	}
	return cli.Interruptedf("interrupted: %d trained models are saved in %s; the same command resumes from there",
		len(models), filepath.ToSlash(f.options.Models))
}

// publicTrace of the folder of public traces; nil if it is not there.
func publicTrace(data, name string, read func(io.Reader) (*workload.Workload, error)) (*workload.Workload, error) {
	path := filepath.Join(data, filepath.FromSlash(name))
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	w, err := read(plain)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}
