package deploy

import (
	"fmt"
	"slices"
	"testing"

	apps "k8s.io/api/apps/v1"
	rbac "k8s.io/api/rbac/v1"
)

// TestShardsAreDeployments: each shard is a Deployment with its own number and the same number of shards, selects its own
// pods, and may hold its lease. One shard is what there was before there were shards.
func TestShardsAreDeployments(t *testing.T) {
	const shards = 3
	made := objects(t, mustHelm(t, fmt.Sprintf("shards: %d\nreplicas: 2", shards)))
	role := as[rbac.Role](t, made, "Role", namespace, "loadline-leader-election")
	for shard := range shards {
		name, lease := "loadline", "loadline.dev"
		if shard > 0 {
			name, lease = fmt.Sprintf("loadline-shard-%d", shard), fmt.Sprintf("loadline.dev.shard-%d", shard)
		}
		d := as[apps.Deployment](t, made, "Deployment", namespace, name)
		checkSelector(t, name, d.Spec.Selector.MatchLabels, d.Spec.Template.Labels)
		checkPod(t, d.Spec.Template)
		if got := d.Spec.Template.Labels["loadline.dev/shard"]; got != fmt.Sprint(shard) {
			t.Errorf("pods of %s have the shard %q", name, got)
		}
		if shard > 0 && d.Spec.Selector.MatchLabels["loadline.dev/shard"] != fmt.Sprint(shard) {
			t.Errorf("%s selects the pods of other shards", name)
		}
		args := d.Spec.Template.Spec.Containers[0].Args
		for _, want := range []string{"--leader-elect", fmt.Sprintf("--shards=%d", shards), fmt.Sprintf("--shard=%d", shard),
			fmt.Sprintf("--controllers=%d", 2*shards)} {
			if !slices.Contains(args, want) {
				t.Errorf("%s has no argument %s: %v", name, want, args)
			}
		}
		if !slices.ContainsFunc(role.Rules, func(r rbac.PolicyRule) bool {
			return slices.Contains(r.ResourceNames, lease) && slices.Contains(r.Verbs, "get") && slices.Contains(r.Verbs, "update")
		}) {
			t.Errorf("the Role does not allow the lease %s", lease)
		}
	}
	one := objects(t, mustHelm(t, ""))
	d := as[apps.Deployment](t, one, "Deployment", namespace, "loadline")
	if args := d.Spec.Template.Spec.Containers[0].Args; slices.ContainsFunc(args, func(a string) bool {
		return a == "--shard=0" || a == "--shards=1"
	}) {
		t.Errorf("one shard is named: %v", args)
	}
}
