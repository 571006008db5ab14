package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/advice"
	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/doctor"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/metrics/prom"
	"github.com/loadline/loadline/internal/onboard"
	"github.com/loadline/loadline/internal/resource"
)

type initFlags struct {
	clusterFlags
	access      historyPullFlags // how to authenticate to Prometheus
	namespace   string
	inside      string // address of Prometheus within the cluster
	since       time.Duration
	preset, out string
	apply       bool
	handover    handoverFlags
	output      Format
	timeout     time.Duration
}

func newInit() *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use:   "init [NAME ...]",
		Short: "Propose LoadLines for a namespace from what runs in it today",
		Long: `Reads the Deployments and StatefulSets of a namespace, their HorizontalPodAutoscalers,
ScaledObjects and VerticalPodAutoscalers, and the last day of their metrics in Prometheus,
and prints the answer first: which applications Loadline can manage, and what is left
out and why. Nothing is changed without --apply.

Workloads that call each other, or have the same label app.kubernetes.io/part-of, are one
application. Each becomes a LoadLine in mode Recommend, which shows decisions and changes
nothing. Bounds are those of today's autoscalers, whose rules and behaviour become the
fallback. Objectives are guesses from the measured 99th percentiles: replace them with
what your users need.

Without --prometheus, the Prometheus of the default LoadLineClass is asked, or else a
Service that looks like one, through the API server's proxy.

--output yaml prints the manifests; -o writes to a file; --apply creates them in the
cluster, all or, if one is refused, none.

--take-over NAME sets a LoadLine to Act and then makes the autoscalers of its services
inert where they are, so that at no moment two of them decide; replicas do not change by
it. What they were is kept in their annotation ` + v1alpha1.TakenOverAnnotation + `, and --give-back NAME
restores it. Both can be interrupted at any point and run again.`,
		Example: `  # What can be managed
  loadline init --namespace shop
  kubectl -n monitoring port-forward svc/prometheus 9090 &
  loadline init --namespace shop --prometheus http://localhost:9090

  # To review, or at once
  loadline init --namespace shop --output yaml -o shop.yaml
  loadline init --namespace shop --apply

  # Control from today's autoscalers to a LoadLine, and back
  loadline init --namespace shop --take-over shop
  loadline init --namespace shop --give-back shop`,
		Args: func(c *cobra.Command, args []string) error { return f.handover.check(c, args, f.apply) },
		RunE: func(c *cobra.Command, names []string) error {
			if len(names) > 0 {
				return f.hand(c.Context(), names, c.OutOrStdout())
			}
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.namespace, "namespace", "", "of the workloads (the context's)")
	f.clusterFlags.add(flags)
	flags.StringVar(&f.access.server.URL, "prometheus", "",
		"a Prometheus that is reachable from here (default: the cluster's, through its API server)")
	flags.StringVar(&f.inside, "cluster-prometheus", "",
		"its address within the cluster, for the manifests (default: as --prometheus, unless that is local)")
	spanVar(flags, &f.since, "since", 24*time.Hour, "how much of the past to look at")
	flags.StringVar(&f.preset, "preset", "", "one of "+strings.Join(prom.Presets(), ", ")+"; default: the one that has results")
	flags.BoolVar(&f.apply, "apply", false, "create the LoadLines in the cluster")
	f.handover.add(flags)
	spanVar(flags, &f.timeout, "timeout", 15*time.Second, "of one request")
	f.output.Add(flags)
	OutVar(flags, &f.out, "write the result to this file instead of printing it")
	f.access.addAccess(flags)
	return c
}

// glanceSteps is how many instants of the past are looked at, unless they were closer than a minute.
const glanceSteps = 288

func (f *initFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	config, namespace, err := f.configIn(f.namespace)
	if err != nil {
		return UsageError(err)
	}
	config.Timeout, config.WarningHandler = f.timeout, rest.NoWarnings{}
	cluster, err := connectTo(config, namespace)
	if err != nil {
		return err
	}
	defer cluster.proxy.close()
	bar := NewProgress(stderr, "reading "+namespace)
	seen, err := f.look(ctx, cluster)
	bar.Done()
	if err != nil {
		return err
	}
	proposal, err := onboard.Propose(seen)
	if err != nil {
		return err
	}
	if f.out != "" {
		err = atomicfile.Write(f.out, func(w io.Writer) error { return f.print(w, proposal) })
	} else {
		err = f.print(stdout, proposal)
	}
	switch {
	case err != nil:
		return err
	case len(proposal.Applications) == 0:
		return errors.New("nothing can be proposed; the reasons are above")
	case f.apply:
		return f.create(ctx, cluster, proposal, stderr)
	}
	return nil
}

// check the flags before anything is read.
func (f *initFlags) check() error {
	faults := []error{CheckWritable("out", f.out)}
	if f.since < time.Minute {
		faults = append(faults, Usagef("--since %v must be at least 1m", f.since))
	}
	if f.inside != "" {
		if u, err := url.Parse(f.inside); err != nil || u.Host == "" {
			faults = append(faults, Usagef("--cluster-prometheus %q must be a URL such as http://prometheus.monitoring:9090", f.inside))
		}
	}
	return errors.Join(faults...)
}

// namespaceIn is a namespace of a cluster.
type namespaceIn struct {
	doctor.Cluster
	client    client.Client
	namespace string
	inside    bool // this process runs in the cluster
	proxy     *apiProxy
}

func connectTo(config *rest.Config, namespace string) (*namespaceIn, error) {
	cluster, err := clusterOf(config)
	if err != nil {
		return nil, err
	}
	scheme, err := clusterScheme()
	if err != nil {
		return nil, err
	}
	c := &namespaceIn{Cluster: cluster, namespace: namespace, proxy: &apiProxy{config: config}}
	if c.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	if own, err := rest.InClusterConfig(); err == nil {
		c.inside = own.Host == config.Host
	}
	return c, nil
}

// look reads the namespace and its metrics.
func (f *initFlags) look(ctx context.Context, c *namespaceIn) (*onboard.Seen, error) {
	objects, err := c.objects(ctx)
	if err != nil {
		return nil, err
	}
	seen := &onboard.Seen{Namespace: c.namespace}
	if seen.Workloads, err = advice.ReadWorkloads(objects); err != nil {
		return nil, err
	}
	// Monitors only make reasons clearer: users may not be allowed to read them.
	if found, err := kube.ReadMonitors(ctx, c.client, c.namespace); err == nil {
		if seen.Monitors, err = objectsOf(found); err != nil {
			return nil, err
		}
	}
	if seen.LoadLines, err = c.loadLines(ctx); err != nil {
		return nil, err
	}
	if list, err := c.Discovery.ServerResourcesForGroupVersion("v1"); err == nil {
		for _, r := range list.APIResources {
			seen.Resizable = seen.Resizable || r.Name == "pods/resize"
		}
	}
	return seen, f.measure(ctx, c, seen)
}

func (c *namespaceIn) objects(ctx context.Context) ([]advice.Object, error) {
	found, err := kube.ReadAutoscalers(ctx, c.client, c.namespace)
	if err != nil {
		return nil, err
	}
	return objectsOf(found)
}

// loadLines of the namespace; none if the cluster does not have the resource.
func (c *namespaceIn) loadLines(ctx context.Context) ([]v1alpha1.LoadLine, error) {
	var list v1alpha1.LoadLineList
	if err := c.client.List(ctx, &list, client.InNamespace(c.namespace)); err != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("list LoadLines of namespace %s: %w", c.namespace, err)
	}
	return list.Items, nil
}

// measure reads the past of the namespace. A server that has no requests of it is no error: the
// proposal says so.
func (f *initFlags) measure(ctx context.Context, c *namespaceIn, seen *onboard.Seen) error {
	preset, err := f.access.named(f.preset)
	if err != nil {
		return err
	}
	server, err := f.server(ctx, c, seen)
	if err != nil {
		return err
	}
	step := max(f.since/glanceSteps, time.Minute).Truncate(time.Second)
	glance, err := server.Look(ctx, c.namespace, preset, time.Now(), max(f.since, step), step)
	if errors.Is(err, prom.ErrNothing) {
		seen.Unseen = strings.TrimPrefix(err.Error(), prom.ErrNothing.Error()+": ")
		return nil
	}
	if err != nil {
		return err
	}
	seen.History, seen.Preset = glance.History, glance.Preset
	return nil
}

// server connects to the Prometheus that the flags name, or to the cluster's. It sets the address
// for manifests.
func (f *initFlags) server(ctx context.Context, c *namespaceIn, seen *onboard.Seen) (*prom.Client, error) {
	var shared string // what LoadLines without an address have
	var classes v1alpha1.LoadLineClassList
	if c.client.List(ctx, &classes) == nil { // not every cluster has them, nor may everyone read them
		if class, err := resource.ClassOf(&v1alpha1.LoadLine{}, classes.Items); err == nil && class != nil && class.Spec.Prometheus != nil {
			shared = class.Spec.Prometheus.URL
		}
	}
	found, _ := doctor.Prometheuses(ctx, c.client, c.inside) // without the permission there are none
	switch given := f.access.server.URL; {
	case f.inside != "":
		seen.URL = f.inside
	case shared != "":
	case given != "" && !isLocal(given):
		seen.URL = given
	case len(found) > 0:
		seen.URL = found[0].URL
	default:
		seen.URL = advice.DefaultPrometheus
	}
	if f.access.server.URL != "" {
		return f.access.connect(f.timeout)
	}
	if shared != "" {
		found = slices.Insert(found, 0, doctor.AddressOf(shared, doctor.DefaultNamespace, c.inside))
	}
	var faults []error
	for _, address := range found {
		server, err := c.proxy.connect(address)
		if err == nil {
			_, err = server.Query(ctx, "vector(1)", time.Now())
		}
		if err == nil {
			if shared == "" && f.inside == "" {
				seen.URL = address.URL
			}
			return server, nil
		}
		faults = append(faults, fmt.Errorf("%s: %w", address.URL, err))
	}
	if len(found) == 0 {
		return nil, Usagef("no Prometheus was found in the cluster: name one with --prometheus, such as a forwarded port")
	}
	return nil, fmt.Errorf("no Prometheus of the cluster answers: forward its port and name it with --prometheus: %w",
		errors.Join(faults...))
}

// isLocal reports whether an address means this machine.
func isLocal(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Hostname() == "localhost" || strings.HasPrefix(u.Hostname(), "127.") || u.Hostname() == "::1")
}

func (f *initFlags) print(w io.Writer, p *onboard.Proposal) error {
	switch f.output.String() {
	case "json":
		return f.output.Encode(w, p)
	case "yaml":
		if len(p.Applications) == 0 {
			_, err := fmt.Fprintf(w, "# %s\n", p.Sentence())
			return err
		}
		return advice.Write(w, p.Documents())
	}
	if err := p.WriteText(w); err != nil || len(p.Applications) == 0 || f.apply {
		return err
	}
	_, err := fmt.Fprintf(w, "\nNothing was changed. The same command with --output yaml prints the manifests, with --apply it creates them.\n")
	return err
}

// create the LoadLines: first as a dry run of all, so that none is created if one is refused.
func (f *initFlags) create(ctx context.Context, c *namespaceIn, p *onboard.Proposal, stderr io.Writer) error {
	for _, real := range []bool{false, true} {
		options := []client.CreateOption{client.FieldOwner(initManager)}
		if !real {
			options = append(options, client.DryRunAll)
		}
		for i := range p.Applications {
			l := p.Applications[i].LoadLine.DeepCopy()
			err := c.client.Create(ctx, l, options...)
			switch {
			case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
				return errors.New("the cluster does not have the resource LoadLine: kubectl apply --server-side -f deploy/crd, " +
					"then run this again")
			case err != nil && !real:
				return fmt.Errorf("LoadLine %s is refused, and nothing was created: %w", l.Name, err)
			case err != nil:
				return fmt.Errorf("create LoadLine %s: %w; run this again for the rest", l.Name, err)
			}
		}
	}
	_, err := fmt.Fprintf(stderr, "Created %s in namespace %s. See what they would do: kubectl -n %s get ll -w\n",
		count(len(p.Applications), "LoadLine", "LoadLines"), c.namespace, c.namespace)
	return err
}

// initManager is the field manager of what init writes.
const initManager = "loadline-init"
