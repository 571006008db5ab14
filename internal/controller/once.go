package controller

import (
	"context"
	"errors"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/decisionlog"
)

// Finding is the result of one pass over an application.
type Finding struct {
	LoadLine   string            `json:"loadline"`
	Mode       v1alpha1.Mode     `json:"mode"`
	Rung       string            `json:"rung,omitempty"`
	Policy     string            `json:"policy,omitempty"`
	Error      string            `json:"error,omitempty"`
	Conditions map[string]string `json:"conditions,omitempty"`
	Services   []ServiceFinding  `json:"services,omitempty"`
}

// ServiceFinding is one service's part of it.
type ServiceFinding struct {
	Service string                `json:"service"`
	State   v1alpha1.ServiceState `json:"state"`
	Seen    *v1alpha1.Seen        `json:"seen,omitempty"`
	Has     *v1alpha1.Amounts     `json:"has,omitempty"`
	Wanted  *v1alpha1.Amounts     `json:"wanted,omitempty"`
	Change  string                `json:"change,omitempty"` // in words; empty = it stays as it is
	Applied bool                  `json:"applied"`
	Why     string                `json:"why,omitempty"`
}

// Once makes one pass over a LoadLine and returns its result. In a dry run, and in
// the modes that do not act, nothing is changed; in a dry run the status is not
// written either.
func (c *Controller) Once(ctx context.Context, l *v1alpha1.LoadLine) Finding {
	f := Finding{LoadLine: l.Namespace + "/" + l.Name, Mode: l.Spec.Mode}
	l, err := c.complete(ctx, l)
	if err != nil {
		f.Error = err.Error()
		return f
	}
	a, err := c.open(ctx, l, func() *v1alpha1.LoadLine { return l })
	if err != nil {
		f.Error = err.Error()
		return f
	}
	r := c.newRunner(l)
	a.cluster.confirm = r.confirm
	r.catchUp(ctx, a)
	v, err := r.pass(ctx, a)
	f.fill(v, v.status(l, a.model, r.forbidden), a)
	if err = errors.Join(err, a.close()); err != nil && f.Error == "" {
		f.Error = err.Error()
	}
	return f
}

// fill in what the pass did, as its status says.
func (f *Finding) fill(v *view, status v1alpha1.LoadLineStatus, a *application) {
	f.Rung, f.Policy, f.Error = v.ladder.Rung.String(), v.policy, text(v.err)
	f.Conditions = map[string]string{}
	for _, c := range status.Conditions {
		f.Conditions[c.Type] = string(c.Status) + " " + c.Reason
		if c.Message != "" {
			f.Conditions[c.Type] += ": " + c.Message
		}
	}
	if !v.seen {
		return // the status is of an earlier pass
	}
	for i := range status.Services {
		s := &status.Services[i]
		at := a.App.ServiceIndex(s.Name)
		f.Services = append(f.Services, ServiceFinding{
			Service: s.Name, State: s.State, Seen: s.Seen, Has: s.Applied, Wanted: s.Wanted, Why: s.Why,
			Change: changeOf(v.services[at].before, planOf(v.plan, at)), Applied: v.applied && a.cluster.act && !planOf(v.plan,
				at).Empty(),
		})
	}
}

func planOf(p loadline.Plan, service int) loadline.Setting {
	for _, s := range p.Services {
		if s.Service == service {
			return s.Setting
		}
	}
	return loadline.Setting{}
}

func changeOf(before loadline.Allocation, set loadline.Setting) string {
	return decisionlog.DescribeChange(before, before.With(set))
}
