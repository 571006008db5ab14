package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/internal/doctor"
)

type doctorFlags struct {
	clusterFlags
	access    historyPullFlags // how to authenticate to Prometheus
	options   doctor.Options
	output    Format
	timeout   time.Duration
	onlyFound bool
}

func newDoctor() *cobra.Command {
	var f doctorFlags
	c := &cobra.Command{
		Use:   "doctor [NAMESPACE/NAME ...]",
		Short: "Check a cluster, before and after Loadline is installed",
		Long: `Checks a cluster with your kubeconfig and prints for every check what was found and
what to do: versions, in-place resize, the CRD and the controller, its lease and its
permissions, KEDA, and for each LoadLine its conditions, its metrics, its workloads,
whether they can be resized, and which other autoscalers control them. Nothing is
changed, and Loadline need not be installed.

Names are LoadLines to check; without a name, all are checked.

A Prometheus within the cluster is queried through the API server's proxy. If that is
not possible, forward its port and give it with --prometheus. Secrets are never read.

States are ok, note, warning and fault. The exit code is 0 if there is no fault, 1 if
there is, and 2 if the cluster cannot be reached. docs/doctor.md lists every check and
the permissions that you need.`,
		Example: `  # Before the installation: is the cluster suited, and are the metrics there?
  loadline doctor
  kubectl -n monitoring port-forward svc/prometheus 9090 &
  loadline doctor --prometheus http://localhost:9090 --namespace shop

  # After installation: everything, or one application
  loadline doctor
  loadline doctor shop/main --context production

  # For a program: all faults
  loadline doctor --output json | jq '.findings[] | select(.state == "fault")'`,
		Args: f.names,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	f.clusterFlags.add(flags)
	flags.StringVar(&f.options.Namespace, "install-namespace", doctor.DefaultNamespace, "namespace of the controller")
	flags.StringVar(&f.options.ServiceAccount, "service-account", doctor.DefaultServiceAccount, "account of the controller")
	flags.StringVar(&f.options.ScalerHost, "keda-host", doctor.DefaultScalerHost,
		"host in a trigger's scalerAddress that means the controller")
	flags.BoolVar(&f.onlyFound, "brief", false, "leave out what is ok")
	spanVar(flags, &f.timeout, "timeout", 15*time.Second, "of one request to the API server")
	flags.StringVar(&f.access.server.URL, "prometheus", "", "a Prometheus to query instead of the one that LoadLines name")
	flags.StringVar(&f.options.Metrics, "namespace", "", "with --prometheus: a namespace whose metrics to check, without a LoadLine")
	f.access.addAccess(flags)
	f.output.Add(flags)
	return c
}

// names reads NAMESPACE/NAME.
func (f *doctorFlags) names(_ *cobra.Command, args []string) error {
	for _, text := range args {
		namespace, name, ok := strings.Cut(text, "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			return Usagef("%q must be the NAMESPACE/NAME of a LoadLine", text)
		}
		f.options.LoadLines = append(f.options.LoadLines, types.NamespacedName{Namespace: namespace, Name: name})
	}
	return nil
}

func (f *doctorFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	if f.options.Metrics != "" && f.access.server.URL == "" {
		return Usagef("--namespace needs --prometheus: the server whose metrics are checked")
	}
	config, err := f.config()
	if err != nil {
		return UsageError(err) // no cluster is reachable: the same code as one that does not answer
	}
	config.Timeout, config.WarningHandler = f.timeout, rest.NoWarnings{}
	o := f.options
	o.Now = time.Now()
	if inside, err := rest.InClusterConfig(); err == nil {
		o.InCluster = inside.Host == config.Host
	}
	if f.access.server.URL != "" {
		if o.Prometheus, err = f.access.connect(f.timeout); err != nil {
			return err
		}
	}
	proxy := apiProxy{config: config}
	defer proxy.close()
	o.Connect = proxy.connect
	cluster, err := clusterOf(config)
	if err != nil {
		return err
	}
	bar := NewProgress(stderr, "checking")
	o.Progress = func(share float64, _ string) { bar.At(share) }
	report, err := doctor.Examine(ctx, cluster, o)
	bar.Done()
	if err != nil {
		return err
	}
	if err := f.print(stdout, report); err != nil {
		return err
	}
	switch faults := report.Count(doctor.Fault); {
	case !report.Reachable:
		return Usagef("the cluster at %s cannot be reached", report.Server)
	case faults > 0:
		return fmt.Errorf("%s found", count(faults, "fault", "faults"))
	}
	return nil
}

// clusterOf a configuration, ready to be read.
func clusterOf(config *rest.Config) (doctor.Cluster, error) {
	scheme, err := clusterScheme()
	if err != nil {
		return doctor.Cluster{}, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return doctor.Cluster{}, err
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return doctor.Cluster{}, err
	}
	return doctor.Cluster{Server: config.Host, Reader: c, Discovery: d, Access: doctor.Reviews{Client: c}}, nil
}

func (f *doctorFlags) print(out io.Writer, r *doctor.Report) error {
	if f.output.Structured() {
		return f.output.Encode(out, r)
	}
	var b strings.Builder
	if err := printVerdict(out, doctorTone(r), "%s", doctorVerdict(r)); err != nil {
		return err
	}
	group := ""
	for _, n := range r.Findings {
		if f.onlyFound && n.State == doctor.OK {
			continue
		}
		if g := heading(n); g != group {
			fmt.Fprintf(&b, "\n%s\n", g)
			group = g
		}
		text := n.Found
		if n.Service != "" {
			text = n.Service + ": " + text
		}
		state := paint(out, stateTones[n.State], fmt.Sprintf("%-8s", n.State))
		fmt.Fprintf(&b, "  %s %-18s %s\n", state, n.Check, text)
		if n.Do != "" {
			fmt.Fprintf(&b, "  %-8s %-18s -> %s\n", "", "", n.Do)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

var stateTones = map[doctor.State]tone{doctor.Warning: toneUnclear, doctor.Fault: toneBad}

func doctorTone(r *doctor.Report) tone {
	switch {
	case r.Count(doctor.Fault) > 0:
		return toneBad
	case r.Count(doctor.Warning) > 0:
		return toneUnclear
	}
	return toneGood
}

// doctorVerdict is how many findings there are of each state.
func doctorVerdict(r *doctor.Report) string {
	var sums []string
	for _, s := range doctor.States {
		sums = append(sums, fmt.Sprintf("%d %s", r.Count(s), s))
	}
	return r.Server + ": " + strings.Join(sums, ", ")
}

func heading(n doctor.Finding) string {
	if n.LoadLine != "" {
		return "LoadLine " + n.LoadLine
	}
	return strings.ToUpper(string(n.Area[:1])) + string(n.Area[1:])
}
