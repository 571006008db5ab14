package deploy

import (
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	rbac "k8s.io/api/rbac/v1"
)

// The agent's example uses existing flags, and has permission for its lease.
func TestAgentFitsTogether(t *testing.T) {
	all := objects(t, read(t, root, "deploy/optional/agent.yaml"))
	source := read(t, root, "internal/cli/run.go") + read(t, root, "internal/cli/run_fleet.go")
	agent := ""
	pod := as[apps.Deployment](t, all, "Deployment", namespace, "loadline-agent-edge").Spec.Template
	for _, arg := range pod.Spec.Containers[0].Args[1:] {
		flag, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if !strings.Contains(source, `"`+flag+`"`) {
			t.Errorf("loadline run has no --%s", flag)
		}
		if flag == "agent" {
			agent = value
		}
	}
	if agent == "" || pod.Labels["loadline.dev/agent"] != agent {
		t.Errorf("agent %q has the labels %v", agent, pod.Labels)
	}
	// What it needs is its own: an account, a user of the NATS servers, a CA and the teacher's keys.
	if account := pod.Spec.ServiceAccountName; account == "loadline" || as[core.ServiceAccount](t, all, "ServiceAccount", namespace,
		account) == nil {
		t.Errorf("it runs as %s", account)
	}
	for _, needed := range []string{"--nats=tls://", "--nats-ca=", "--nats-credentials=", "--fleet-trust-keys="} {
		if !slices.ContainsFunc(pod.Spec.Containers[0].Args, func(arg string) bool { return strings.HasPrefix(arg, needed) }) {
			t.Errorf("%s is not among its arguments", needed)
		}
	}
	checkPod(t, pod)
	checkArguments(t, pod.Spec, nil)
	for id, o := range all {
		if o.kind() == "NetworkPolicy" {
			checkNetworkPolicy(t, id, as[networking.NetworkPolicy](t, all, o.kind(), namespace, o.text("metadata", "name")), pod)
		}
		if subjects, ok := o.at("subjects").([]any); ok && subjects[0].(map[string]any)["name"] != pod.Spec.ServiceAccountName {
			t.Errorf("%s is for %v", id, subjects)
		}
	}
	role := as[rbac.Role](t, all, "Role", namespace, "loadline-agent-edge")
	if !slices.ContainsFunc(role.Rules, func(r rbac.PolicyRule) bool {
		return slices.Equal(r.ResourceNames, []string{"loadline.dev-" + agent}) && slices.Contains(r.Verbs, "update")
	}) {
		t.Errorf("the agent may not hold its lease: %+v", role.Rules)
	}
}
