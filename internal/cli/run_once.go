package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/controller"
)

// runOnce makes one pass over each LoadLine and prints the results. Unless it is a
// dry run it holds the lease meanwhile.
func (f *liveFlags) runOnce(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, log *slog.Logger, stdout io.Writer) error {
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return clusterError(err)
	}
	if f.dryRun {
		return f.passOnce(ctx, direct, nil, log, stdout)
	}
	lock, err := f.newLock(config)
	if err != nil {
		return clusterError(err)
	}
	return withLease(ctx, lock, f.leaseWait, log, func(ctx context.Context) error {
		return f.passOnce(ctx, direct, f.fence(lock, direct), log, stdout)
	})
}

// passOnce reads the LoadLines after the lease was acquired: their status has what the
// last holder has decided.
func (f *liveFlags) passOnce(ctx context.Context, direct client.Client, lease *controller.Lease, log *slog.Logger, stdout io.Writer) error {
	all, err := listLoadLines(ctx, direct, f.namespaces)
	if err != nil {
		return clusterError(err)
	}
	c := controller.New(ctx, controller.Options{
		Client: direct, Live: direct, Log: log, Now: time.Now, ScalerHosts: f.kedaHosts,
		Prometheus: f.prometheus, AllowPrometheus: f.allowed, Models: f.models, Decisions: f.decisions,
		DecisionsMax: f.decisionsMax << 20, DryRun: f.dryRun, Lease: lease, Namespace: f.lease(),
	})
	var findings []controller.Finding
	for i := range all {
		// A dry run covers the LoadLines of agents too.
		if (f.fleet.agent != "" || !f.dryRun) && all[i].Labels[v1alpha1.AgentLabel] != f.fleet.agent {
			continue
		}
		findings = append(findings, c.Once(ctx, &all[i]))
	}
	if f.output.Structured() {
		if findings == nil {
			findings = []controller.Finding{}
		}
		err = f.output.Encode(stdout, findings)
	} else {
		err = printFindings(stdout, findings)
	}
	for _, found := range findings {
		if found.Error != "" {
			err = errors.Join(err, fmt.Errorf("%s: %s", found.LoadLine, found.Error))
		}
	}
	return err
}

// listLoadLines of some namespaces, or of all.
func listLoadLines(ctx context.Context, c client.Reader, namespaces []string) ([]v1alpha1.LoadLine, error) {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	var all []v1alpha1.LoadLine
	for _, n := range namespaces {
		var list v1alpha1.LoadLineList
		if err := c.List(ctx, &list, client.InNamespace(n)); err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

func printFindings(w io.Writer, findings []controller.Finding) error {
	if len(findings) == 0 {
		_, err := fmt.Fprintln(w, "There is no LoadLine. Start with one of deploy/samples.")
		return err
	}
	for i, f := range findings {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  mode %s", f.LoadLine, f.Mode)
		if f.Policy != "" {
			fmt.Fprintf(w, ", rung %s, policy %s", f.Rung, f.Policy)
		}
		fmt.Fprintln(w)
		for _, name := range []string{"Ready", "Fallback", "Paused", "Conflict", "Stale"} {
			good := "False"
			if name == "Ready" {
				good = "True"
			}
			if c := f.Conditions[name]; c != "" && !slices.Contains([]string{good}, c[:min(len(good), len(c))]) {
				fmt.Fprintf(w, "  %s: %s\n", name, c)
			}
		}
		if f.Error != "" {
			fmt.Fprintf(w, "  %s\n", f.Error)
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		if len(f.Services) > 0 {
			fmt.Fprintln(t, "  SERVICE\tSTATE\tRATE\tCPU\tREADY\tREPLICAS\tCHANGE\tWHY")
		}
		for _, s := range f.Services {
			rate, cpu, ready, replicas := "-", "-", "-", "-"
			if s.Seen != nil {
				if s.Seen.Rate != "" {
					rate = string(s.Seen.Rate) + "/s"
				}
				if s.Seen.CPU != nil {
					cpu = s.Seen.CPU.String()
				}
				if s.Seen.ReadyReplicas != nil {
					ready = fmt.Sprint(*s.Seen.ReadyReplicas)
				}
			}
			if s.Has != nil && s.Has.Replicas != nil {
				replicas = fmt.Sprint(*s.Has.Replicas)
			}
			change := s.Change
			switch {
			case change == "":
				change = "none"
			case !s.Applied:
				change += " (not applied)"
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Service, s.State, rate, cpu, ready, replicas, change, s.Why)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
