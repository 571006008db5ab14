package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/console"
	"github.com/loadline/loadline/internal/decisionlog"
)

func newPluginStatus() *cobra.Command {
	var f pluginFlags
	var output Format
	c := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show applications: objectives, error budget, cost, mode, what needs attention",
		Example: `  kubectl loadline status -A
  kubectl loadline status web -n shop --output json`,
		Args: upTo(1, "a LoadLine"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.connect(); err != nil {
				return err
			}
			list, note, err := f.applications(c.Context())
			if err != nil {
				return err
			}
			if len(args) == 1 {
				list = slices.DeleteFunc(list, func(a console.Application) bool { return a.Name != args[0] })
				if len(list) == 0 {
					return fmt.Errorf("the namespace %s has no LoadLine %q that you may read", f.namespace, args[0])
				}
			}
			if output.Structured() {
				return output.Encode(c.OutOrStdout(), map[string]any{"applications": list})
			}
			if note != "" {
				fmt.Fprintf(c.ErrOrStderr(), "kubectl loadline: error budgets and cost are not shown: %s\n", note)
			}
			return printStatus(c.OutOrStdout(), list)
		},
	}
	f.add(c.Flags(), true)
	output.Add(c.Flags())
	return c
}

// upTo arguments, for an optional name.
func upTo(most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > most {
			return Usagef("%s takes %s at most, not %d arguments; see %s --help", c.CommandPath(), what, len(args), c.CommandPath())
		}
		return nil
	}
}

// applications that the user may read: of the console, or of the resources, with a note why.
func (f *pluginFlags) applications(ctx context.Context) (list []console.Application, note string, err error) {
	query := url.Values{}
	if !f.all {
		query.Set("namespace", f.namespace)
	}
	var answer console.List
	failed := f.asked.get(ctx, "/api/v1/applications", query, &answer)
	if failed == nil {
		return answer.Applications, "", nil
	}
	var loadlines v1alpha1.LoadLineList
	in := f.namespace
	if f.all {
		in = ""
	}
	if err := f.client.List(ctx, &loadlines, client.InNamespace(in)); err != nil {
		return nil, "", pluginError(err)
	}
	for i := range loadlines.Items {
		list = append(list, console.Summary(&loadlines.Items[i]))
	}
	slices.SortFunc(list, func(a, b console.Application) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return list, failed.Error(), nil
}

func printStatus(w io.Writer, list []console.Application) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "There is no LoadLine that you may read here.")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAMESPACE\tNAME\tMODE\tRUNG\tSLO\tLATENCY\tBUDGET\tCOST/H\tSAVED/MONTH\tSERVICES")
	for i := range list {
		a := &list[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.Namespace, a.Name, a.Mode, rungOf(a), sloOf(a), latencyOf(a), budgetOf(a),
			costOf(a), savedOf(a), orMinus(a.Moved))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range list {
		for _, what := range list[i].Attention {
			fmt.Fprintf(w, "%s/%s: %s\n", list[i].Namespace, list[i].Name, what)
		}
	}
	return nil
}

func orMinus(text string) string { return cmp.Or(text, "-") }

func rungOf(a *console.Application) string {
	if a.Rung == nil {
		return "-"
	}
	return a.Rung.Name
}

func sloOf(a *console.Application) string {
	switch a.SLOMet {
	case "True":
		return "met"
	case "False":
		return "missed"
	}
	return "unknown"
}

// worst objective: the one with the highest latency relative to its target.
func worst(a *console.Application) *console.Objective {
	var found *console.Objective
	for i := range a.Objectives {
		o := &a.Objectives[i]
		if o.OverSLO != nil && (found == nil || *o.OverSLO > *found.OverSLO) {
			found = o
		}
	}
	return found
}

func latencyOf(a *console.Application) string {
	o := worst(a)
	if o == nil || o.Latency == nil {
		return "-"
	}
	return fmt.Sprintf("p%g %s of %s", o.Percentile, milliseconds(*o.Latency), milliseconds(o.Target))
}

func milliseconds(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond / 10).String()
}

// budgetOf is the least error budget that is left.
func budgetOf(a *console.Application) string {
	var least *float64
	for i := range a.Objectives {
		if left := a.Objectives[i].BudgetLeft; left != nil && (least == nil || *left < *least) {
			least = left
		}
	}
	if least == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100**least)
}

func costOf(a *console.Application) string {
	if a.Money == nil || a.Money.PerHour == nil {
		return "-"
	}
	return fmt.Sprintf("%.3g %s", *a.Money.PerHour, a.Money.Currency)
}

func savedOf(a *console.Application) string {
	if a.Money == nil || a.Money.Baseline == nil {
		return "-"
	}
	return fmt.Sprintf("%.3g %s against %s", a.Money.Baseline.Saved, a.Money.Currency, a.Money.Baseline.Name)
}

func newPluginExplain() *cobra.Command {
	var f pluginFlags
	var output Format
	var since time.Duration
	c := &cobra.Command{
		Use:   "explain [NAME]",
		Short: "Explain the latest change of each service in plain sentences",
		Example: `  kubectl loadline explain web -n shop
  kubectl loadline explain web -n shop --since 1h`,
		Args: upTo(1, "a LoadLine"),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := f.connectOne(c.Context(), first(args))
			if err != nil {
				return err
			}
			return f.explain(c, l, "", since, output)
		},
	}
	f.add(c.Flags(), false)
	spanVar(c.Flags(), &since, "since", 0, "explain every change of this period, up to 6h")
	output.Add(c.Flags())
	return c
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func newPluginWhy() *cobra.Command {
	var f pluginFlags
	var output Format
	var since time.Duration
	var name string
	c := &cobra.Command{
		Use:   "why SERVICE",
		Short: "Explain why a service has the size that it has",
		Example: `  kubectl loadline why checkout -n shop
  kubectl loadline why checkout -n shop --loadline web --since 2h`,
		Args: Exactly("a service"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.connect(); err != nil {
				return err
			}
			l, err := f.withService(c.Context(), name, args[0])
			if err != nil {
				return err
			}
			return f.explain(c, l, args[0], since, output)
		},
	}
	f.add(c.Flags(), false)
	c.Flags().StringVar(&name, "loadline", "", "the LoadLine (default: the one that has the service)")
	spanVar(c.Flags(), &since, "since", 0, "explain every change of this period, up to 6h")
	output.Add(c.Flags())
	return c
}

// explain by the console's record, or else by the status.
func (f *pluginFlags) explain(c *cobra.Command, l *v1alpha1.LoadLine, service string, since time.Duration, output Format) error {
	query := url.Values{}
	if service != "" {
		query.Set("service", service)
	}
	if since > 0 {
		query.Set("since", since.String())
	}
	var answer console.Explanations
	if err := f.asked.get(c.Context(), applicationPath(l)+"/explain", query, &answer); err != nil {
		fmt.Fprintf(c.ErrOrStderr(), "kubectl loadline: the status is shown, without earlier decisions: %v\n", err)
		answer = fromStatus(l, service)
	}
	if answer.Note != "" {
		fmt.Fprintf(c.ErrOrStderr(), "kubectl loadline: %s\n", answer.Note)
	}
	if output.Structured() {
		return output.Encode(c.OutOrStdout(), answer)
	}
	if len(answer.Explanations) == 0 && since > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "kubectl loadline: nothing was changed in the last %v\n", since)
	}
	for i, e := range answer.Explanations {
		if i > 0 {
			fmt.Fprintln(c.OutOrStdout())
		}
		fmt.Fprintln(c.OutOrStdout(), e.Text)
	}
	return nil
}

// fromStatus is the reasons that the status has.
func fromStatus(l *v1alpha1.LoadLine, service string) console.Explanations {
	e := console.Explanations{Explanations: []decisionlog.Explanation{}}
	for i := range l.Status.Services {
		s := &l.Status.Services[i]
		if service != "" && s.Name != service {
			continue
		}
		text := fmt.Sprintf("%s is %s", s.Name, orMinus(string(s.State)))
		if s.Applied != nil && s.Applied.Replicas != nil {
			text += fmt.Sprintf(" at %d replicas", *s.Applied.Replicas)
		}
		if s.LastChangeTime != nil {
			text += ", last changed at " + decisionlog.FormatTime(s.LastChangeTime.Time)
		}
		if s.Why != "" {
			text += ": " + strings.TrimSuffix(s.Why, ".")
		}
		e.Explanations = append(e.Explanations, decisionlog.Explanation{Service: s.Name, Text: text + "."})
	}
	return e
}

// sizeDifference is a difference between what is recommended and what is there.
type sizeDifference struct {
	Service string `json:"service"`
	Field   string `json:"field"`
	Live    string `json:"live"`
	Wanted  string `json:"recommended"`
}

func newPluginDiff() *cobra.Command {
	var f pluginFlags
	var output Format
	c := &cobra.Command{
		Use:   "diff [NAME]",
		Short: "Compare what Loadline recommends with what the workloads have",
		Long: `Compares the latest recommendation of each service (after the guards, where it is
applied) with the replicas and the sizes in the workload. In mode Recommend it shows
what mode Act would change.`,
		Example: `  kubectl loadline diff web -n shop`,
		Args:    upTo(1, "a LoadLine"),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := f.connectOne(c.Context(), first(args))
			if err != nil {
				return err
			}
			list, err := f.differences(c.Context(), l)
			if err != nil {
				return err
			}
			if output.Structured() {
				return output.Encode(c.OutOrStdout(), map[string]any{"differences": list})
			}
			if len(list) == 0 {
				fmt.Fprintln(c.OutOrStdout(), "The workloads have what is recommended.")
				return nil
			}
			t := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "SERVICE\tFIELD\tLIVE\tRECOMMENDED")
			for _, d := range list {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", d.Service, d.Field, d.Live, d.Wanted)
			}
			return t.Flush()
		},
	}
	f.add(c.Flags(), false)
	output.Add(c.Flags())
	return c
}

func (f *pluginFlags) differences(ctx context.Context, l *v1alpha1.LoadLine) ([]sizeDifference, error) {
	list := []sizeDifference{}
	for i := range l.Spec.Services {
		service := &l.Spec.Services[i]
		at := slices.IndexFunc(l.Status.Services, func(s v1alpha1.ServiceStatus) bool { return s.Name == service.Name })
		if at < 0 {
			continue // nothing is recommended yet
		}
		wanted := l.Status.Services[at].Wanted
		if l.Spec.Mode == v1alpha1.Act && l.Status.Services[at].Applied != nil {
			wanted = l.Status.Services[at].Applied
		}
		if wanted == nil {
			continue
		}
		replicas, pod, err := f.workload(ctx, l.Namespace, service)
		if err != nil {
			return nil, err
		}
		list = append(list, compareSizes(service, wanted, replicas, pod)...)
	}
	return list, nil
}

// workload of a service as it is now: its replicas and its pods' template.
func (f *pluginFlags) workload(ctx context.Context, namespace string, s *v1alpha1.Service) (int64, *corev1.PodSpec, error) {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(cmp.Or(s.TargetRef.APIVersion, "apps/v1"))
	u.SetKind(cmp.Or(s.TargetRef.Kind, "Deployment"))
	if err := f.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: s.TargetRef.Name}, u); err != nil {
		return 0, nil, fmt.Errorf("the workload of service %s: %w", s.Name, err)
	}
	var d appsv1.Deployment // other kinds have the same fields
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d); err != nil {
		return 0, nil, fmt.Errorf("the workload of service %s: %w", s.Name, err)
	}
	replicas := int64(1)
	if d.Spec.Replicas != nil {
		replicas = int64(*d.Spec.Replicas)
	}
	return replicas, &d.Spec.Template.Spec, nil
}

func compareSizes(s *v1alpha1.Service, wanted *v1alpha1.Amounts, replicas int64, pod *corev1.PodSpec) (list []sizeDifference) {
	if wanted.Replicas != nil && int64(*wanted.Replicas) != replicas {
		list = append(list, sizeDifference{s.Name, "replicas", fmt.Sprint(replicas), fmt.Sprint(*wanted.Replicas)})
	}
	if len(pod.Containers) == 0 || !slices.ContainsFunc(s.Axes, func(a v1alpha1.Axis) bool { return a != v1alpha1.Horizontal }) {
		return list
	}
	container := &pod.Containers[0]
	for i := range pod.Containers {
		if pod.Containers[i].Name == s.Container {
			container = &pod.Containers[i]
		}
	}
	for _, row := range []struct {
		field string
		want  interface{ String() string }
		set   bool
		live  corev1.ResourceList
		kind  corev1.ResourceName
	}{
		{"CPU request", wanted.CPURequest, wanted.CPURequest != nil, container.Resources.Requests, corev1.ResourceCPU},
		{"CPU limit", wanted.CPULimit, wanted.CPULimit != nil, container.Resources.Limits, corev1.ResourceCPU},
		{"memory request", wanted.MemoryRequest, wanted.MemoryRequest != nil, container.Resources.Requests, corev1.ResourceMemory},
		{"memory limit", wanted.MemoryLimit, wanted.MemoryLimit != nil, container.Resources.Limits, corev1.ResourceMemory},
	} {
		live, has := row.live[row.kind]
		if !row.set || has && live.String() == row.want.String() {
			continue
		}
		text := "none"
		if has {
			text = live.String()
		}
		list = append(list, sizeDifference{s.Name, row.field, text, row.want.String()})
	}
	return list
}
