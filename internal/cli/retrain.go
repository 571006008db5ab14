package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/portfolio"
	"github.com/loadline/loadline/internal/registry"
	"github.com/loadline/loadline/internal/sim/pool"
)

type retrainFlags struct {
	cluster                clusterFlags
	namespace, dir         string
	since                  time.Duration
	pull                   historyPullFlags // where Prometheus is, and how to log in
	methods                []string
	candidates, seeds      int
	steps                  int
	stretch                time.Duration
	prefer, poolOf, prices string
	neighbours             string
	dryRun                 bool
}

func newRetrain() *cobra.Command {
	var f retrainFlags
	c := &cobra.Command{
		Use:   "retrain LOADLINE",
		Short: "Pull, fit, train and evaluate for a LoadLine, and promote only if the proof holds",
		Long: `Does for one LoadLine what people do by hand with history pull, train, evaluate and promote, for a
CronJob or a person: the history of its namespace is pulled from its Prometheus, a twin is fitted,
candidates are trained, and evaluate judges them against what runs today, with the objectives and
axes of the LoadLine.

Only if the verdict is to promote, the model and the twin are written to the ConfigMaps
LOADLINE-model and LOADLINE-twin, and the LoadLine follows them: its policy, fallback rule and twin
change, its mode does not. Any other verdict changes nothing. In both cases the exit code is 0, and
the verdict and the cost of the work are recorded in the annotation loadline.dev/retrained; the
former policy is in loadline.dev/before-retraining.

The ConfigMaps have fixed names, which the controller must be allowed to read
(deploy/rbac/namespace-secrets.yaml).`,
		Example: `  loadline retrain shop --namespace shop --dry-run
  loadline retrain shop --namespace shop --since 21d --dir /var/lib/loadline/retrain
  loadline retrain shop --prometheus https://mimir.example.com/prometheus --header X-Scope-OrgID=team-a --token-file token`,
		Args: Exactly("the name of a LoadLine"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.Context(), c.Root(), args[0], c.Flags(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.namespace, "namespace", "", "of the LoadLine (default: the context's)")
	spanVar(flags, &f.since, "since", 14*24*time.Hour, "length of the history, such as 14d")
	flags.StringSliceVar(&f.methods, "methods", nil, "methods to train candidates of, comma-separated (as loadline train)")
	flags.IntVar(&f.candidates, "candidates", 8, "how many candidates to train")
	flags.IntVar(&f.steps, "steps", 0, "environment steps of each candidate (as the method sets)")
	flags.IntVar(&f.seeds, "seeds", pipeline.DefaultSeeds, "runs of each deployment on each stretch at first")
	spanVar(flags, &f.stretch, "stretch", pipeline.DefaultStretch, "length of the stretches")
	flags.StringVar(&f.prefer, "prefer", string(pipeline.PreferCost), "one of "+strings.Join(pipeline.Preferences(), ", "))
	flags.StringVar(&f.poolOf, "pool", "", "nodes that the application runs on, as for loadline evaluate")
	flags.StringVar(&f.prices, "prices", "", "prices, as for loadline evaluate; the cost of the retraining is in them too")
	flags.StringVar(&f.neighbours, "neighbours", "", "other tenants of the nodes, as for loadline evaluate")
	flags.StringVar(&f.dir, "dir", "", "folder for the history and the run; one that exists is continued (default: a temporary one)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "say what would change, and change nothing")
	flags.StringVar(&f.pull.server.URL, "prometheus", "", "base URL of the server (default: spec.prometheus.url)")
	flags.StringVar(&f.pull.until, "until", "", "the end of the history; default: now")
	spanVar(flags, &f.pull.pull.Step, "step", 15*time.Second, "between two values of the history")
	f.pull.addAccess(flags)
	f.cluster.add(flags)
	return c
}

// Retrained is the outcome of a retraining, in the annotation RetrainedAnnotation.
type Retrained struct {
	At        metav1.Time   `json:"at"`
	Verdict   pipeline.Kind `json:"verdict"`
	Sentence  string        `json:"sentence"`
	Promoted  string        `json:"promoted,omitempty"` // policy or candidate
	CoreHours string        `json:"coreHours"`          // CPU time of the whole work
	Cost      string        `json:"cost"`
}

// Annotations of a LoadLine that was retrained.
const (
	RetrainedAnnotation = "loadline.dev/retrained"
	BeforeAnnotation    = "loadline.dev/before-retraining"
)

func (f *retrainFlags) run(ctx context.Context, root *cobra.Command, name string, flags *pflag.FlagSet, stdout, stderr io.Writer) error {
	prices, err := f.pricesOf()
	if err != nil {
		return err
	}
	began := processCPUTime()
	config, namespace, err := f.cluster.configIn(f.namespace)
	if err != nil {
		return err
	}
	config.Timeout = clusterTimeout
	scheme, err := clusterScheme()
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return clusterError(err)
	}
	l := &v1alpha1.LoadLine{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, l); err != nil {
		return clusterError(err)
	}
	if f.dir == "" {
		if f.dir, err = os.MkdirTemp("", "loadline-retrain-"); err != nil {
			return err
		}
		defer os.RemoveAll(f.dir)
	}
	today, err := f.today(ctx, c, l)
	if err != nil {
		return err
	}
	commands, err := f.commands(l, today, flags)
	if err != nil {
		return err
	}
	for _, args := range commands {
		fmt.Fprintf(stderr, "loadline %s\n", strings.Join(args, " "))
		root.SetArgs(args)
		var verdict *verdictError
		if err := root.ExecuteContext(ctx); err != nil && !errors.As(err, &verdict) {
			return fmt.Errorf("%s: %w", strings.Join(args[:1], " "), err)
		}
	}
	run := filepath.Join(f.dir, runFolder)
	folder, err := pipeline.OpenRun(run)
	if err != nil {
		return err
	}
	e, err := pipeline.ReadEvaluation(folder)
	if err != nil {
		return err
	}
	hours := (processCPUTime() - began).Hours()
	outcome := Retrained{At: metav1.Now(), Verdict: e.Verdict.Kind, Sentence: e.Verdict.Sentence, CoreHours: fmt.Sprintf("%.3f", hours),
		Cost: fmt.Sprintf("%.4f %s", hours*prices.CoreHour, prices.Currency)}
	fmt.Fprintf(stdout, "%s\nThis took %s core-hours, %s.\n", outcome.Sentence, outcome.CoreHours, outcome.Cost)
	if f.dryRun {
		return nil
	}
	return f.record(ctx, c, l, root, run, &outcome, stdout)
}

func (f *retrainFlags) pricesOf() (pool.Prices, error) {
	nodes := poolFlags{prices: f.prices}
	var cluster pool.Cluster
	err := nodes.apply(&cluster)
	return cluster.Prices.WithDefaults(), err
}

// commands of a retraining, but for the promotion.
func (f *retrainFlags) commands(l *v1alpha1.LoadLine, today string, flags *pflag.FlagSet) ([][]string, error) {
	server := &l.Spec.Prometheus
	if f.pull.server.URL == "" {
		f.pull.server.URL = server.URL
	}
	if f.pull.server.URL == "" {
		return nil, Usagef("LoadLine %s has no spec.prometheus.url, its server is that of its class: name it with --prometheus", l.Name)
	}
	past, run := filepath.Join(f.dir, "past"), filepath.Join(f.dir, runFolder)
	of := l.Namespace
	pull := []string{"history", "pull", "--prometheus=" + f.pull.server.URL, "--since=" + flags.Lookup("since").Value.String(), "--out=" + past}
	if server.Namespace != "" {
		of = server.Namespace
	}
	if server.Preset != "" {
		pull = append(pull, "--preset="+server.Preset)
	}
	pull = append(pull, "--namespace="+of)
	flags.Visit(func(flag *pflag.Flag) {
		if !slices.Contains([]string{"until", "step", "token-file", "user", "password-file", "header", "ca-file", "cert-file", "key-file", "server-name",
			"insecure"}, flag.Name) {
			return
		}
		values := []string{flag.Value.String()}
		if list, isList := flag.Value.(pflag.SliceValue); isList {
			values = list.GetSlice()
		}
		for _, v := range values {
			pull = append(pull, "--"+flag.Name+"="+v)
		}
	})
	train := []string{"train", "--history=" + past, "--out=" + run, "--name=" + l.Name, fmt.Sprint("--candidates=", f.candidates)}
	if len(f.methods) > 0 {
		train = append(train, "--methods="+strings.Join(f.methods, ","))
	}
	if f.steps > 0 {
		train = append(train, fmt.Sprint("--steps=", f.steps))
	}
	for i := range l.Spec.Objectives {
		train = append(train, "--objective="+objectiveText(&l.Spec.Objectives[i]))
	}
	judge := []string{"evaluate", run, "--prefer=" + f.prefer, fmt.Sprint("--seeds=", f.seeds), "--stretch=" + f.stretch.String(),
		"--axes=" + strings.Join(axesOf(l), ","), "--today=" + today}
	if today == inCluster {
		judge = append(judge, "--namespace="+l.Namespace)
		judge = append(judge, f.cluster.args()...)
	}
	for _, g := range []struct{ name, value string }{{"pool", f.poolOf}, {"prices", f.prices}, {"neighbours", f.neighbours}} {
		if g.value != "" {
			judge = append(judge, "--"+g.name+"="+g.value)
		}
	}
	return [][]string{pull, train, judge}, nil
}

// runFolder of a retraining, below its folder.
const runFolder = "run"

// today is what runs: the LoadLine's own policy if it acts, or else the objects of the namespace.
func (f *retrainFlags) today(ctx context.Context, c client.Client, l *v1alpha1.LoadLine) (string, error) {
	if l.Spec.Mode != v1alpha1.Act {
		return inCluster, nil
	}
	m := l.Spec.Policy.Model
	switch {
	case m == nil:
		return string(l.Spec.Policy.Baseline), nil
	case m.ConfigMap == nil:
		return "", fmt.Errorf("LoadLine %s acts on a model that is in no ConfigMap, so that what runs today cannot be read: put it into one "+
			"(spec.policy.model.configMap)", l.Name)
	}
	held := &corev1.ConfigMap{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: l.Namespace, Name: m.ConfigMap.Name}, held); err != nil {
		return "", clusterError(err)
	}
	key := m.ConfigMap.Key
	if key == "" {
		key = modelKey
	}
	content, found := held.BinaryData[key]
	if !found {
		return "", fmt.Errorf("ConfigMap %s has no binary key %s, which LoadLine %s names as its model", held.Name, key, l.Name)
	}
	path := filepath.Join(f.dir, "today.safetensors")
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return "", err
	}
	return "model:file=" + path, os.WriteFile(path, content, 0o644)
}

// modelKey of a ConfigMap with a model.
const modelKey = "model.safetensors"

// objectiveText is an objective as loadline train reads it.
func objectiveText(o *v1alpha1.Objective) string {
	text := fmt.Sprintf("%s%% < %s", o.Percentile, time.Duration(o.Latency.Span()))
	if o.Kind != "" && o.Kind != v1alpha1.AnyKind {
		return o.Kind + ": " + text
	}
	return text
}

// axesOf a LoadLine: all that some service may change.
func axesOf(l *v1alpha1.LoadLine) []string {
	given := map[string]bool{}
	for i := range l.Spec.Services {
		for _, a := range l.Spec.Services[i].Axes {
			given[string(a)] = true
		}
	}
	axes := slices.DeleteFunc(slices.Clone(guard.AxisNames()), func(name string) bool { return !given[name] })
	if len(axes) == 0 {
		return []string{guard.Horizontal}
	}
	return axes
}

// record promotes if the verdict is to, and writes the outcome to the LoadLine, in one change.
func (f *retrainFlags) record(ctx context.Context, c client.Client, l *v1alpha1.LoadLine, root *cobra.Command, run string, outcome *Retrained,
	stdout io.Writer) error {
	before := client.MergeFrom(l.DeepCopy())
	if l.Annotations == nil {
		l.Annotations = map[string]string{}
	}
	if outcome.Verdict == pipeline.Promote {
		if err := f.follow(ctx, c, l, root, run, outcome); err != nil {
			return err
		}
	}
	text, err := json.Marshal(outcome)
	if err != nil {
		return err
	}
	l.Annotations[RetrainedAnnotation] = string(text)
	if err := c.Patch(ctx, l, before); err != nil {
		return clusterError(err)
	}
	if outcome.Promoted != "" {
		fmt.Fprintf(stdout, "LoadLine %s follows %s now; its former policy is in the annotation %s.\n", l.Name, outcome.Promoted, BeforeAnnotation)
	}
	return nil
}

// follow promotes the candidate and makes the LoadLine follow it.
func (f *retrainFlags) follow(ctx context.Context, c client.Client, l *v1alpha1.LoadLine, root *cobra.Command, run string,
	outcome *Retrained) error {
	in := filepath.Join(f.dir, "registry")
	root.SetArgs([]string{"promote", run, "--registry=" + in})
	if err := root.ExecuteContext(ctx); err != nil {
		return err
	}
	r := registry.Open(in)
	p, model, err := r.Current(l.Name)
	if err != nil {
		return err
	}
	former, err := json.Marshal(map[string]any{"policy": l.Spec.Policy, "fallback": l.Spec.Fallback, "twin": l.Spec.Twin})
	if err != nil {
		return err
	}
	twin := map[string][]byte{}
	for _, name := range []string{pipeline.TwinFile, portfolio.JudgedFile} {
		if twin[name], err = os.ReadFile(filepath.Join(r.Folder(p.App, p.Version), name)); err != nil {
			return err
		}
	}
	l.Annotations[BeforeAnnotation] = string(former)
	outcome.Promoted = p.Candidate
	if p.Policy != "" {
		l.Spec.Policy = v1alpha1.Policy{Baseline: v1alpha1.Baseline(p.Policy)}
	} else {
		content, err := os.ReadFile(model)
		if err != nil {
			return err
		}
		if err := f.hold(ctx, c, l, l.Name+"-model", &corev1.ConfigMap{BinaryData: map[string][]byte{modelKey: content}}); err != nil {
			return err
		}
		l.Spec.Policy = v1alpha1.Policy{Model: &v1alpha1.Model{ConfigMap: &v1alpha1.ModelConfigMap{Name: l.Name + "-model", Key: modelKey}}}
	}
	l.Spec.Fallback = v1alpha1.Baseline(p.Fallback)
	l.Spec.Twin = &v1alpha1.ConfigMapKey{Name: twinName(l.Name), Key: pipeline.TwinFile}
	return f.hold(ctx, c, l, twinName(l.Name), &corev1.ConfigMap{Data: map[string]string{
		pipeline.TwinFile: string(twin[pipeline.TwinFile]), portfolio.JudgedFile: string(twin[portfolio.JudgedFile])}})
}

// hold content in a ConfigMap of the LoadLine's namespace.
func (f *retrainFlags) hold(ctx context.Context, c client.Client, l *v1alpha1.LoadLine, name string, content *corev1.ConfigMap) error {
	content.Namespace, content.Name = l.Namespace, name
	content.Labels = map[string]string{"app.kubernetes.io/name": "loadline"}
	err := c.Update(ctx, content)
	if apierrors.IsNotFound(err) {
		err = c.Create(ctx, content)
	}
	return clusterError(err)
}
