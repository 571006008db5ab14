package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/jobs"
	"github.com/loadline/loadline/internal/shard"
)

// OnFlags say where the work of a command is done.
type OnFlags struct {
	where               string
	shard               string
	kubeconfig, kubectx string
	upload              []string
	options             jobs.Options
	Part                shard.Part
}

const (
	onHere       = "local"
	onKubernetes = "kubernetes"
)

// Add the flags.
func (f *OnFlags) Add(flags *pflag.FlagSet) {
	o := &f.options
	flags.StringVar(&f.where, "on", onHere, "where the work is done: local, or kubernetes = as an Indexed Job on a cluster")
	flags.IntVar(&o.Workers, "on-workers", 4, "pods of the Job")
	flags.StringVar(&o.Image, "on-image", defaultImage(), "image of the pods, with the same build of this program")
	flags.StringVar(&o.CPU, "on-cpu", "2", "cores of each pod")
	flags.StringVar(&o.Memory, "on-memory", "4Gi", "memory of each pod")
	flags.StringVar(&o.Namespace, "on-namespace", "", "namespace of the Job (default: the context's)")
	flags.StringVar(&o.Claim, "on-claim", "", "existing volume claim for the files (default: one is made and deleted with the Job)")
	flags.StringVar(&o.Class, "on-class", "", "storage class of the claim that is made (default: the cluster's)")
	flags.StringVar(&o.Size, "on-size", "10Gi", "size of the claim that is made")
	flags.BoolVar(&o.OneNode, "on-one-node", false, "the volume can be written from one node only: run all pods on one")
	flags.StringArrayVar(&f.upload, "on-upload", nil, "further file or folder that the command reads; repeatable (those that its flags name are sent)")
	flags.BoolVar(&o.Keep, "on-keep", false, "keep the Job and its volume when the results are here")
	flags.StringVar(&f.kubeconfig, "on-kubeconfig", "", "how to reach the cluster (default: $KUBECONFIG or ~/.kube/config)")
	flags.StringVar(&f.kubectx, "on-context", "", "context of the kubeconfig (default: its current one)")
	flags.StringVar(&f.shard, "shard", "", "I/N: do part I of N first, then what other processes with the same command leave; all in one folder")
}

// defaultImage of this release; a development build has none.
func defaultImage() string {
	if version == "development" {
		return ""
	}
	return "loadline.dev/" + filepath.Base(os.Args[0]) + ":" + version
}

// Check the flags.
func (f *OnFlags) Check() (err error) {
	if !slices.Contains([]string{"", onHere, onKubernetes}, f.where) { // a command without the flag has none
		return Usagef("--on is %q, must be %s or %s", f.where, onHere, onKubernetes)
	}
	if f.shard == "" {
		return nil
	}
	if f.where != onHere {
		return Usagef("--shard and --on %s exclude each other", f.where)
	}
	if f.Part, err = shard.Parse(f.shard, os.Getenv("JOB_COMPLETION_INDEX")); err != nil {
		return Usagef("--shard: %w", err)
	}
	return nil
}

// Elsewhere reports whether the work is done on a cluster.
func (f *OnFlags) Elsewhere() bool { return f.where == onKubernetes }

// Shared reports whether this process is one of several with one folder.
func (f *OnFlags) Shared() bool { return f.shard != "" }

// Lock a folder of results for this process, or for all that share it.
func (f *OnFlags) Lock(dir string) (io.Closer, error) {
	if !f.Shared() {
		return lockFolder(dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return atomicfile.Share(dir)
}

// Errand is a command that can be run on a cluster.
type Errand struct {
	Args    []string // the command and its arguments, without flags
	Flags   *pflag.FlagSet
	Except  []string    // flags that are not for the pods
	More    []string    // flags for the pods instead
	Inputs  []jobs.Path // besides what flags name
	Earlier []jobs.Path
	Results []jobs.Path
}

// notForPods are flags about the output here.
var notForPods = []string{"output", "workers", "parallel", "verbose", "expect"}

// Run a command on the cluster and fetch its results.
func (f *OnFlags) Run(ctx context.Context, e Errand, stderr io.Writer) error {
	t := jobs.Task{Program: Build(), Args: slices.Clone(e.Args), Earlier: e.Earlier, Results: e.Results, Inputs: e.Inputs}
	named := slices.Clone(f.upload)
	e.Flags.Visit(func(flag *pflag.Flag) {
		if name := flag.Name; strings.HasPrefix(name, "on") && (name == "on" || name[2] == '-') || slices.Contains(notForPods, name) ||
			slices.Contains(e.Except, name) {
			return
		}
		values := []string{flag.Value.String()}
		if list, isList := flag.Value.(pflag.SliceValue); isList {
			values = list.GetSlice()
		}
		for _, value := range values {
			t.Args = append(t.Args, "--"+flag.Name+"="+value)
			named = append(named, pathsIn(value)...)
		}
	})
	t.Args = append(t.Args, e.More...)
	for _, name := range named {
		if !filepath.IsLocal(name) {
			return Usagef("%s is outside of the current folder: pods find files by the same relative path; change to a folder above it", name)
		}
		p := jobs.Path{Here: filepath.Clean(name), There: filepath.ToSlash(filepath.Clean(name))}
		if !slices.Contains(t.Inputs, p) {
			t.Inputs = append(t.Inputs, p)
		}
	}
	var err error
	o := f.options
	where := clusterFlags{f.kubeconfig, f.kubectx}
	if o.Config, o.Namespace, err = where.configIn(o.Namespace); err != nil {
		return err
	}
	bar := NewProgress(stderr, "job")
	defer bar.Done()
	o.Log = func(line string) { bar.Done(); fmt.Fprintln(stderr, line) }
	o.Progress = func(share float64, doing string) { bar.Describe(doing); bar.At(share) }
	return jobs.Run(ctx, o, t)
}

// pathsIn a flag's value: its words that are the names of files here, as in drpc:file=drpc.safetensors.
func pathsIn(value string) []string {
	var found []string
	exists := func(name string) bool { _, err := os.Stat(name); return name != "" && err == nil }
	if exists(value) {
		return []string{value}
	}
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(":=,;+ ", r) }) {
		if word != "." && word != ".." && word != "/" && exists(word) {
			found = append(found, word)
		}
	}
	return found
}
