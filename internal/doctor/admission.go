package doctor

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/loadline/loadline/api/v1alpha1"
)

const applyPolicy = "kubectl apply -f deploy/admission/pod-size.yaml"

// admission checks for the policy that sets the size of new pods: any whose parameters are
// LoadLines.
func (e *exam) admission(ctx context.Context) {
	a := e.of(OfInstallation)
	there, err := e.served(admissionregistrationv1.SchemeGroupVersion.String(), "mutatingadmissionpolicies")
	switch {
	case err != nil:
		e.unseen(a, "admission-policy", "admission policies", err, "")
		return
	case !there:
		a.note("admission-policy", "", "The cluster has no MutatingAdmissionPolicy (stable from Kubernetes 1.%d): pods get their "+
			"size right after they are created.", policiesStable)
		return
	case !e.defined:
		a.ok("admission-policy", "The cluster has MutatingAdmissionPolicy, which can give pods their size when they are created.")
		return
	}
	var policies admissionregistrationv1.MutatingAdmissionPolicyList
	if err := e.Reader.List(ctx, &policies); err != nil {
		e.unseen(a, "admission-policy", "admission policies", err, "")
		return
	}
	name := ""
	for _, p := range policies.Items {
		if k := p.Spec.ParamKind; k != nil && k.Kind == "LoadLine" && k.APIVersion == v1alpha1.GroupVersion.String() {
			name = p.Name
		}
	}
	if name == "" {
		a.note("admission-policy", applyPolicy,
			"The admission policy is not installed: pods get their size right after they are created, not when.")
		return
	}
	var bindings admissionregistrationv1.MutatingAdmissionPolicyBindingList
	if err := e.Reader.List(ctx, &bindings); err != nil {
		e.unseen(a, "admission-policy", "bindings of admission policies", err, "")
		return
	}
	for _, b := range bindings.Items {
		if b.Spec.PolicyName == name {
			a.ok("admission-policy", "The admission policy %s is installed and bound: pods are created with their size.", name)
			return
		}
	}
	a.warn("admission-policy", applyPolicy, "The admission policy %s has no binding, so it does nothing.", name)
}
