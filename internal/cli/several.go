package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/workload"
)

// severalFlags are those that may be given once for each application of a cluster.
type severalFlags struct {
	apps, workloads, policies []string
	scales                    []float64
}

func (f *severalFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.apps, "app", []string{"bookinfo"},
		"name or file of an application (see apps), or NAME=APP; repeatable: several share one cluster")
	flags.StringArrayVar(&f.workloads, "workload", []string{"day"},
		"name, generators or file of a workload (see workload list); of several applications once for all or once for each")
	flags.StringArrayVar(&f.policies, "policy", []string{"hpa"},
		"name[:key=value,...] of a policy; of several applications once for all or once for each")
}

// subject is what a run is of.
type subject struct {
	app      *loadline.App      // nil = it has a fault
	workload *workload.Workload // likewise
	policy   string
	remarks  []string // on data that were left out
}

// subject of the flags: one application, or several joined in one. The error has every fault.
func (f *simulateFlags) subject() (subject, error) {
	all := f.several
	if all.apps == nil { // of a command with one application
		all = severalFlags{[]string{f.app}, []string{f.workload}, []string{f.policy}, []float64{f.nodes.appScale}}
	}
	n := len(all.apps)
	err := errors.Join(once("workload", &all.workloads, n), once("policy", &all.policies, n), once("app-scale", &all.scales, n))
	if err != nil {
		return subject{}, err
	}
	var s subject
	var faults []error
	var joined []apps.Joined
	var loads []*workload.Workload
	for i := range n {
		one, err := namedApp(all.apps[i], all.scales[i])
		faults = append(faults, err)
		joined = append(joined, one)
		own := f.workloadFlags
		own.options.Seed = sim.TenantSeed(f.options.Seed, i)
		w, report, err := own.open(all.workloads[i])
		faults = append(faults, err)
		loads = append(loads, w)
		if remark := leftOut(report); remark != "" {
			s.remarks = append(s.remarks, fmt.Sprintf("workload %s: %s", all.workloads[i], remark))
		}
	}
	if n == 1 {
		s.app, s.workload, s.policy = joined[0].App, loads[0], all.policies[0]
		if s.app != nil && strings.Contains(all.apps[0], "=") {
			named := *s.app
			named.Name, s.app = joined[0].Name, &named
		}
		return s, errors.Join(faults...)
	}
	if err := errors.Join(faults...); err != nil {
		return s, err
	}
	return s.join(joined, loads, all.policies)
}

// join several applications with their workloads and policies.
func (s subject) join(joined []apps.Joined, loads []*workload.Workload, policies []string) (subject, error) {
	app, err := apps.Join(joined)
	if err != nil {
		return s, UsageError(err)
	}
	var names []string
	for _, w := range loads {
		if !slices.Contains(names, w.Name) {
			names = append(names, w.Name)
		}
	}
	w, err := workload.Join(strings.Join(names, " + "), app, loads)
	if err != nil {
		return s, err
	}
	s.app, s.workload, s.policy = app, w, policy.JoinApplications(app, policies)
	return s, nil
}

// once repeats a value that is given once for all applications.
func once[T any](flag string, values *[]T, applications int) error {
	switch len(*values) {
	case applications:
	case 1:
		*values = slices.Repeat(*values, applications)
	default:
		return Usagef("--%s is given %d times for %d applications: give it once for all, or once for each", flag, len(*values), applications)
	}
	return nil
}

// namedApp reads NAME=APP, or APP under its own name, scaled.
func namedApp(text string, scale float64) (apps.Joined, error) {
	name, reference, named := strings.Cut(text, "=")
	if !named {
		reference = text
	}
	model, err := loadApp(reference)
	if err != nil {
		return apps.Joined{}, err
	}
	if !named {
		name = model.App.Name
	}
	app, err := scaledBy(model.App, scale)
	return apps.Joined{Name: name, App: app}, err
}
