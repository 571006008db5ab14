package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/portfolio"
	"github.com/loadline/loadline/internal/registry"
	"github.com/loadline/loadline/internal/suggest"
)

type promoteFlags struct {
	candidate, registry, app string
	output                   Format
	force, list, rollback    bool
}

func newPromote() *cobra.Command {
	var f promoteFlags
	c := &cobra.Command{
		Use:   "promote RUN|FILE",
		Short: "Promote a candidate of a run to the registry, or roll back to the previous version",
		Long: `Promotes the candidate that the evaluation of a run judged to the current version of
its application in the registry: a folder with one folder per application and one per
version in it. The results of the evaluation are added to the model's card, and written
to card.md in readable form. The next commands, for the cluster, are printed.

If the verdict of the evaluation is another, nothing is promoted, and the exit code is
that of evaluate: 3 keep, 4 change, 5 undecided, 6 refused. --force promotes it anyway,
and its card says so; --candidate names another candidate, which was not judged.

A model file that was trained on its own (train --formulation) can be promoted too. It
was not evaluated against a baseline, so this needs --force; train --methods trains
candidates of the same methods, which evaluate compares with baselines.

Promotion is atomic. Earlier versions are kept, and --rollback returns to the previous
one.`,
		Example: `  loadline evaluate shop
  loadline promote shop
  loadline promote shop --candidate loadline-dqn-2 --registry /var/lib/loadline
  loadline promote drpc.safetensors --app shop.yaml --force
  loadline promote msars.safetensors --app shop.yaml --force
  loadline promote --list
  loadline promote --rollback --app shop`,
		Args: func(c *cobra.Command, args []string) error {
			if f.list || f.rollback {
				return Exactly()(c, args)
			}
			return Exactly("the folder of a run, or a model file")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(args, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.candidate, "candidate", "", "name of the candidate (the one that was judged)")
	flags.StringVar(&f.registry, "registry", "registry", "folder of the promoted policies")
	flags.BoolVar(&f.force, "force", false, "promote it whatever the verdict is")
	flags.BoolVar(&f.list, "list", false, "list promoted versions, and exit")
	flags.BoolVar(&f.rollback, "rollback", false, "make the previous version current again")
	flags.StringVar(&f.app, "app", "", "with --rollback: the application, if the registry has several; "+
		"with a file: name or file of its application")
	f.output.Add(flags)
	return c
}

func (f *promoteFlags) run(args []string, stdout, stderr io.Writer) error {
	r := registry.Open(f.registry)
	switch {
	case f.list && f.rollback:
		return Usagef("--list and --rollback exclude each other")
	case f.list:
		return f.printList(stdout, r)
	case f.rollback:
		return f.goBack(stdout, r)
	}
	info, err := os.Stat(args[0])
	if err == nil && !info.IsDir() || err != nil &&
		filepath.Ext(args[0]) == ".safetensors" { // a missing file with this extension is a file, too
		return f.promoteFile(args[0], r, stdout)
	}
	return f.promote(args[0], r, stdout, stderr)
}

// notBetterError: the verdict is not to promote the candidate.
type notBetterError struct {
	verdict, candidate, remedy string
	code                       int
}

func (e *notBetterError) Error() string {
	text := fmt.Sprintf("%s is not promoted. %s", e.candidate, e.verdict)
	if e.remedy == "" {
		return text
	}
	return text + "\n" + e.remedy + ", or promote it all the same with --force"
}

func (f *promoteFlags) promote(dir string, r *registry.Registry, stdout, stderr io.Writer) error {
	folder, err := pipeline.OpenRun(dir)
	if err != nil {
		return err
	}
	e, err := pipeline.ReadEvaluation(folder)
	if err != nil {
		return err
	}
	entry, verdict, err := f.choose(e)
	if err != nil {
		return err
	}
	switch {
	case verdict.Kind == pipeline.Refused: // no candidate was judged, so there is nothing to force
		return &notBetterError{verdict.Sentence, "The run", "", exitRefused}
	case verdict.Kind != pipeline.Promote && !f.force:
		return &notBetterError{verdict.Sentence, entry.Label, "Try other candidates (loadline train --candidates, --methods), or evaluate " +
			"with other settings (loadline evaluate --help)", exitCodes[verdict.Kind]}
	}
	offer := registry.Offer{
		App: folder.App, Model: folder.ModelPath(entry.Label), SHA256: entry.SHA256,
		Promotion: registry.Promotion{
			Candidate: entry.Label, Prefer: string(e.Prefer), Verdict: verdict.Sentence, Forced: verdict.Kind != pipeline.Promote,
			Fallback: entry.Fallback, Axes: e.Settings.Axes, Results: resultsOf(e, entry), At: time.Now(), By: Build(),
		},
	}
	if offer.Files, err = judgedWith(folder, e, entry); err != nil {
		return err
	}
	if entry.SHA256 == "" { // it needs no model
		offer.Model, offer.Promotion.Policy = "", entry.Policy
	}
	p, err := r.Promote(offer)
	if err != nil {
		return err
	}
	if f.output.Structured() {
		return f.output.Encode(stdout, p)
	}
	if p.Forced {
		fmt.Fprintf(stderr, "note: promoted with --force. %s\n", verdict.Sentence)
	}
	return printPromoted(stdout, r, p, r.Folder(p.App, p.Version))
}

// judgedWith are the files that a LoadLine is watched with: the twin, and what was judged on it.
func judgedWith(folder *pipeline.Folder, e *pipeline.Evaluation, entry *pipeline.Entry) (map[string][]byte, error) {
	twin, err := os.ReadFile(filepath.Join(folder.Dir, pipeline.TwinFile))
	if err != nil {
		return nil, err
	}
	judged, err := portfolio.Of(folder, e, entry).Encode()
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", portfolio.JudgedFile, err)
	}
	return map[string][]byte{pipeline.TwinFile: twin, portfolio.JudgedFile: judged}, nil
}

// twinCommand makes the ConfigMap of the twin, or replaces that of an earlier version.
func twinCommand(app, folder string) string {
	return fmt.Sprintf("kubectl create configmap %s --from-file=twin.yaml=%s --from-file=%s=%s --dry-run=client -o yaml | kubectl apply -f -",
		twinName(app), filepath.Join(folder, pipeline.TwinFile), portfolio.JudgedFile, filepath.Join(folder, portfolio.JudgedFile))
}

// printPromoted also prints what to do next, with the version's folder, which has the twin with which
// it was judged.
func printPromoted(w io.Writer, r *registry.Registry, p registry.Promotion, folder string) error {
	fmt.Fprintf(w, "%s is version %d of %s", p.Candidate, p.Version, p.App)
	if p.Former > 0 {
		fmt.Fprintf(w, "; version %d is kept, loadline promote --rollback --app %s returns to it", p.Former, p.App)
	}
	_, path, err := r.Current(p.App)
	if err != nil {
		return err
	}
	if p.Policy != "" {
		return printPolicy(w, p, folder)
	}
	fmt.Fprintf(w, "\n%s\nmodel: %s\n", p.Verdict, path)
	if p.Fallback == "" {
		return nil
	}
	// As it was judged, and without effect until the mode is Act.
	_, err = fmt.Fprintf(w, "Next, in the namespace of the LoadLine %s with axes %s:\n"+
		"  kubectl create configmap %s-model --from-file=model.safetensors=%s --dry-run=client -o yaml | kubectl apply -f -\n"+
		"  %s\n"+
		"  kubectl patch loadline %s --type merge -p '{\"spec\":{\"mode\":\"Recommend\",\"fallback\":%q,"+
		"\"policy\":{\"baseline\":null,\"model\":{\"configMap\":{\"name\":\"%s-model\"}}},"+
		"\"twin\":{\"name\":%q,\"key\":\"twin.yaml\"}}}'\n",
		p.App, strings.Join(p.Axes, ", "), p.App, path, twinCommand(p.App, folder), p.App, p.Fallback, p.App, twinName(p.App))
	return err
}

// printPolicy is printPromoted's for a policy that needs no model.
func printPolicy(w io.Writer, p registry.Promotion, folder string) error {
	_, err := fmt.Fprintf(w, "\n%s\npolicy: %s\nNext, in the namespace of the LoadLine %s with axes %s:\n"+
		"  %s\n"+
		"  kubectl patch loadline %s --type merge -p '{\"spec\":{\"mode\":\"Recommend\",\"fallback\":%q,"+
		"\"policy\":{\"baseline\":%q,\"model\":null},\"twin\":{\"name\":%q,\"key\":\"twin.yaml\"}}}'\n",
		p.Verdict, p.Policy, p.App, strings.Join(p.Axes, ", "), twinCommand(p.App, folder), p.App, p.Fallback, p.Policy, twinName(p.App))
	return err
}

// choose the candidate, by its name or as evaluated, and the verdict on it.
func (f *promoteFlags) choose(e *pipeline.Evaluation) (*pipeline.Entry, pipeline.Verdict, error) {
	if e.Verdict.Kind == pipeline.Refused {
		return nil, e.Verdict, nil
	}
	var names []string
	var chosen *pipeline.Entry
	for i := range e.Selection.Entries {
		if c := &e.Selection.Entries[i]; c.Role == pipeline.RoleCandidate {
			names = append(names, c.Label)
			if c.Label == f.candidate {
				chosen = c
			}
		}
	}
	switch {
	case f.candidate == "" || f.candidate == e.Selection.Choice:
		if judged := e.Entry(e.Selection.Choice); judged != nil {
			return judged, e.Verdict, nil
		}
		return nil, e.Verdict, errors.New("no candidate was evaluated")
	case chosen == nil:
		return nil, e.Verdict, Usagef("--candidate %q was not evaluated%s", f.candidate, suggest.Hint(f.candidate, names))
	}
	return chosen, pipeline.Verdict{Kind: pipeline.Undecided, Sentence: fmt.Sprintf("It was not judged on the test part, %s was: "+
		"loadline evaluate --candidate %s judges it.", e.Selection.Choice, f.candidate)}, nil
}

// resultsOf is the evaluation for the model's card.
func resultsOf(e *pipeline.Evaluation, c *pipeline.Entry) []modelfile.Result {
	on := fmt.Sprintf("held-out part; %s", count(e.Seeds, "seed", "seeds"))
	rule := e.Entry(pipeline.TodayLabel)
	if e.Entry(c.Label) != c { // not judged there
		on, rule = "part for selection; 1 seed", nil
	}
	var all []modelfile.Result
	add := func(name, on string, of func(*pipeline.Entry) float64) {
		r := modelfile.Result{Name: name, On: on, Value: of(c)}
		if rule != nil && !math.IsNaN(of(rule)) {
			r.Baseline, r.Against = pipeline.RuleName(rule.Policy), of(rule)
		}
		if !math.IsNaN(r.Value) && !math.IsInf(r.Value, 0) && !math.IsInf(r.Against, 0) {
			all = append(all, r)
		}
	}
	add(e.Currency+" a month", on, func(x *pipeline.Entry) float64 { return float64(x.PerMonth) })
	add("cores", on, func(x *pipeline.Entry) float64 { return float64(x.Cores) })
	add("GiB", on, func(x *pipeline.Entry) float64 { return float64(x.GiB) })
	add("share of requests over the SLO", on, func(x *pipeline.Entry) float64 { return float64(x.Over) })
	add("latency over its SLO, worst stretch", on, func(x *pipeline.Entry) float64 { return float64(x.SLORatio) })
	add("mean replicas", on, func(x *pipeline.Entry) float64 { return float64(x.Replicas) })
	add("replica changes an hour", on, func(x *pipeline.Entry) float64 { return float64(x.ReplicaChanges) })
	add("resizes an hour", on, func(x *pipeline.Entry) float64 { return float64(x.Resizes) })
	add("mean pods", "ENV2, the whole held-out part", func(x *pipeline.Entry) float64 {
		if x.ENV2 == nil {
			return math.NaN()
		}
		return float64(x.ENV2.MeanPods)
	})
	return all
}

func (f *promoteFlags) printList(w io.Writer, r *registry.Registry) error {
	all, err := r.Apps()
	if err != nil {
		return err
	}
	if f.output.Structured() {
		return f.output.Encode(w, struct {
			Apps []registry.App `json:"apps"`
		}{all})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "APPLICATION\tVERSION\tCANDIDATE\tPROMOTED\tVERDICT")
	for _, a := range all {
		for _, p := range a.Versions {
			version := fmt.Sprint(p.Version)
			if p.Version == a.Current {
				version += " (current)"
			}
			verdict := p.Verdict
			if p.Forced {
				verdict = "By force. " + verdict
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", a.Name, version, p.Candidate, minute(p.At), verdict)
		}
	}
	return t.Flush()
}

func (f *promoteFlags) goBack(w io.Writer, r *registry.Registry) error {
	app := f.app
	if app == "" {
		all, err := r.Apps()
		if err != nil {
			return err
		}
		if len(all) != 1 {
			var names []string
			for _, a := range all {
				names = append(names, a.Name)
			}
			return Usagef("the registry has %d applications: choose one with --app (%s)", len(all), strings.Join(names, ", "))
		}
		app = all[0].Name
	}
	p, err := r.Rollback(app, time.Now())
	if err != nil {
		return err
	}
	if f.output.Structured() {
		return f.output.Encode(w, p)
	}
	_, err = fmt.Fprintf(w, "version %d of %s is current again: %s\n", p.Version, p.App, p.Candidate)
	return err
}
