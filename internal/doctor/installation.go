package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const install = "kubectl apply --server-side -k deploy"

// installation looks for the controller: a Deployment with its service account, whatever its
// name.
func (e *exam) installation(ctx context.Context) {
	a := e.of(OfInstallation)
	var list appsv1.DeploymentList
	if err := e.Reader.List(ctx, &list, client.InNamespace(e.Namespace)); err != nil {
		e.unseen(a, "controller", "Deployments of the namespace "+e.Namespace, err, "")
		return
	}
	for i := range list.Items {
		if d := &list.Items[i]; d.Spec.Template.Spec.ServiceAccountName == e.ServiceAccount && !isAgent(d) {
			e.deployment = d
		}
	}
	switch {
	case e.deployment == nil && !e.defined:
		a.note("controller", install, "Loadline is not installed: there is neither the resource LoadLine nor a controller in the "+
			"namespace %s.", e.Namespace)
		e.mayInstall(ctx, a)
		return
	case e.deployment == nil:
		a.fault("controller", install+"; if it runs elsewhere, name the place: loadline doctor --install-namespace NAMESPACE "+
			"--service-account NAME",
			"No Deployment of the namespace %s runs under the account %s: no controller watches LoadLines.", e.Namespace, e.ServiceAccount)
		return
	case !e.defined:
		a.fault("crd", applyCRD, "The controller is there, and the definition of its resource is not.")
	}
	e.controller(ctx, a)
	if e.namespaces = namespacesOf(e.deployment); len(e.namespaces) > 0 {
		a.ok("namespaces", "The controller watches these namespaces only: %s.", some(e.namespaces))
	}
	e.lease(ctx, a)
}

// mayInstall checks whether the current user could install it.
func (e *exam) mayInstall(ctx context.Context, a about) {
	var denied []string
	for _, r := range []authorizationv1.ResourceAttributes{
		{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		{Resource: "namespaces"},
		{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
		{Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
		{Group: "apps", Resource: "deployments", Namespace: e.Namespace},
	} {
		r.Verb = "create"
		allowed, err := e.Access.Allowed(ctx, "", nil, r)
		if err != nil {
			e.unseen(a, "may-install", "whether you may install it", err, "")
			return
		}
		if !allowed {
			denied = append(denied, r.Resource)
		}
	}
	if len(denied) > 0 {
		a.warn("may-install", "ask a cluster administrator to apply deploy/", "You may not create %s, so you cannot install Loadline.",
			strings.Join(denied, ", "))
		return
	}
	a.ok("may-install", "You may create everything that an installation consists of.")
}

func (e *exam) controller(ctx context.Context, a about) {
	d := e.deployment
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	name, ready := d.Namespace+"/"+d.Name, d.Status.ReadyReplicas
	logs := fmt.Sprintf("kubectl -n %s describe deployment %s; kubectl -n %s logs deployment/%s", d.Namespace, d.Name, d.Namespace, d.Name)
	switch {
	case want == 0:
		a.fault("controller", fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=2", d.Namespace, d.Name),
			"The controller %s is scaled to zero.", name)
	case ready == 0:
		a.fault("controller", logs, "The controller %s has no ready replica of %d%s.", name, want, e.whyNotReady(ctx, d))
	case ready < want:
		a.warn("controller", logs, "The controller %s has %d ready replicas of %d%s.", name, ready, want, e.whyNotReady(ctx, d))
	case want == 1:
		a.note("controller", fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=2", d.Namespace, d.Name),
			"The controller %s is ready, with no second replica to take over.", name)
	default:
		a.ok("controller", "The controller %s is ready (%d replicas).", name, ready)
	}
}

// whyNotReady is the message of the Deployment or of its first pod that is not ready.
func (e *exam) whyNotReady(ctx context.Context, d *appsv1.Deployment) string {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return ": " + c.Message
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return ""
	}
	var pods corev1.PodList
	if err := e.Reader.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return ""
	}
	for _, p := range pods.Items {
		for _, s := range p.Status.ContainerStatuses {
			if s.State.Waiting != nil && s.State.Waiting.Reason != "ContainerCreating" {
				return fmt.Sprintf(": pod %s: %s %s", p.Name, s.State.Waiting.Reason, s.State.Waiting.Message)
			}
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return fmt.Sprintf(": pod %s: %s", p.Name, c.Message)
			}
		}
	}
	return ""
}

// lease reports which replica acts.
func (e *exam) lease(ctx context.Context, a about) {
	var list coordinationv1.LeaseList
	if err := e.Reader.List(ctx, &list, client.InNamespace(e.Namespace)); err != nil {
		e.unseen(a, "lease", "leases of the namespace "+e.Namespace, err, "")
		return
	}
	var lease *coordinationv1.Lease
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, "loadline") {
			lease = &list.Items[i]
			break
		}
	}
	logs := fmt.Sprintf("kubectl -n %s logs deployment/%s", e.Namespace, e.deployment.Name)
	if lease == nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || lease.Spec.RenewTime == nil {
		a.fault("lease", logs, "No replica of the controller holds the lease: no controller is active.")
		return
	}
	holder, age := *lease.Spec.HolderIdentity, e.Now.Sub(lease.Spec.RenewTime.Time)
	lasts := 15 * time.Second
	if s := lease.Spec.LeaseDurationSeconds; s != nil {
		lasts = time.Duration(*s) * time.Second
	}
	// Two clocks are compared: a few seconds do not matter.
	if age > lasts+10*time.Second {
		a.fault("lease", logs, "The lease %s was last renewed %s ago by %s and lasts %s: no controller is active.", lease.Name,
			round(age), holder,
			lasts)
		return
	}
	since := ""
	if lease.Spec.AcquireTime != nil {
		since = " for " + round(e.Now.Sub(lease.Spec.AcquireTime.Time))
	}
	a.ok("lease", "%s has held the lease %s%s, renewed %s ago.", holder, lease.Name, since, round(max(age, 0)))
}

// round formats a duration.
func round(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
