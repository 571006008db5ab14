package deploy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

func TestManifestsAreWired(t *testing.T) {
	checkWiring(t, objects(t, kustomize(t, deploy)), nil)
}

// checkWiring follows every name from one object to the other.
func checkWiring(t *testing.T, made map[string]object, values map[string]any) {
	t.Helper()
	deployment := as[apps.Deployment](t, made, "Deployment", namespace, "loadline")
	if deployment == nil {
		return
	}
	checkPod(t, deployment.Spec.Template)
	checkArguments(t, deployment.Spec.Template.Spec, values)
	for id, o := range made {
		switch o.kind() {
		case "Service":
			service := as[core.Service](t, made, o.kind(), namespace, o.text("metadata", "name"))
			checkSelector(t, id, service.Spec.Selector, deployment.Spec.Template.Labels)
			for _, port := range service.Spec.Ports {
				if !slices.ContainsFunc(deployment.Spec.Template.Spec.Containers[0].Ports, func(p core.ContainerPort) bool {
					return p.Name == port.TargetPort.StrVal && p.ContainerPort == port.Port
				}) {
					t.Errorf("%s: no container has the port %v", id, port)
				}
			}
		case "PodDisruptionBudget":
			budget := as[policy.PodDisruptionBudget](t, made, o.kind(), namespace, o.text("metadata", "name"))
			checkSelector(t, id, budget.Spec.Selector.MatchLabels, deployment.Spec.Template.Labels)
		case "NetworkPolicy":
			checkNetworkPolicy(t, id, as[networking.NetworkPolicy](t, made, o.kind(), namespace, o.text("metadata", "name")),
				deployment.Spec.Template)
		case "ServiceMonitor":
			service := as[core.Service](t, made, "Service", namespace, "loadline-metrics")
			selector, _ := o.at("spec", "selector", "matchLabels").(map[string]any)
			for key, value := range selector {
				if service.Labels[key] != value {
					t.Errorf("%s: the service has no label %s=%s", id, key, value)
				}
			}
		case "RoleBinding":
			b := as[rbac.RoleBinding](t, made, o.kind(), o.text("metadata", "namespace"), o.text("metadata", "name"))
			checkBinding(t, made, id, b.RoleRef, b.Subjects, b.Namespace)
		case "ClusterRoleBinding":
			b := as[rbac.ClusterRoleBinding](t, made, o.kind(), "", o.text("metadata", "name"))
			checkBinding(t, made, id, b.RoleRef, b.Subjects, "")
		}
	}
	checkReach(t, made, values)
}

// as is an object as its type; nil with an error if there is none.
func as[T any](t *testing.T, made map[string]object, kind, namespace, name string) *T {
	t.Helper()
	o, there := made[fmt.Sprintf("%s %s/%s", kind, namespace, name)]
	if !there {
		t.Errorf("there is no %s %s/%s", kind, namespace, name)
		return nil
	}
	text, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	got, is := typed(t, string(text)).(any).(*T)
	if !is {
		t.Fatalf("%s %s is of another type", kind, name)
	}
	return got
}

// checkNetworkPolicy: it is for the controller's pods, and lets peers reach each of their ports.
func checkNetworkPolicy(t *testing.T, id string, p *networking.NetworkPolicy, pod core.PodTemplateSpec) {
	t.Helper()
	checkSelector(t, id, p.Spec.PodSelector.MatchLabels, pod.Labels)
	open := map[string]bool{}
	for _, rule := range p.Spec.Ingress {
		for _, port := range rule.Ports {
			open[port.Port.StrVal] = true
			if port.Port.StrVal == "keda" && len(rule.From) == 0 {
				t.Errorf("%s: everyone may reach KEDA's port", id)
			}
		}
	}
	for _, port := range pod.Spec.Containers[0].Ports {
		if !open[port.Name] {
			t.Errorf("%s: nobody may reach the port %s", id, port.Name)
		}
		delete(open, port.Name)
	}
	if len(open) > 0 {
		t.Errorf("%s: the container has no port %v", id, open)
	}
}

func checkSelector(t *testing.T, id string, selector, labels map[string]string) {
	t.Helper()
	if len(selector) == 0 {
		t.Errorf("%s selects everything", id)
	}
	for key, value := range selector {
		if labels[key] != value {
			t.Errorf("%s selects %s=%s, which the pods have not", id, key, value)
		}
	}
}

func checkBinding(t *testing.T, made map[string]object, id string, ref rbac.RoleRef, subjects []rbac.Subject, in string) {
	t.Helper()
	if _, there := made[fmt.Sprintf("%s %s/%s", ref.Kind, in, ref.Name)]; !there {
		t.Errorf("%s binds %s %s, which is not there", id, ref.Kind, ref.Name)
	}
	want := rbac.Subject{Kind: "ServiceAccount", Name: "loadline", Namespace: namespace}
	if len(subjects) != 1 || subjects[0] != want {
		t.Errorf("%s is for %v", id, subjects)
	}
}

// checkReach: cluster-wide, or in the named namespaces, never both.
func checkReach(t *testing.T, made map[string]object, values map[string]any) {
	t.Helper()
	named, _ := values["namespaces"].([]any)
	for id, o := range made {
		if strings.HasPrefix(o.kind(), "ClusterRole") && len(named) > 0 && o.text("metadata", "name") != "loadline-console" {
			t.Errorf("%s although namespaces are named", id)
		}
	}
	var wanted []string
	for _, name := range named {
		wanted = append(wanted, fmt.Sprintf("Role %s/loadline", name))
	}
	if len(named) == 0 {
		wanted = []string{"ClusterRole /loadline"}
	}
	for _, id := range wanted {
		if _, there := made[id]; !there {
			t.Errorf("there is no %s", id)
		}
	}
}

// checkPod: the requirements of the standard "restricted", and slightly more.
func checkPod(t *testing.T, template core.PodTemplateSpec) {
	t.Helper()
	pod, c := template.Spec, template.Spec.Containers[0]
	s, cs := pod.SecurityContext, c.SecurityContext
	switch {
	case s == nil || cs == nil:
		t.Error("there is no security context")
	case !*s.RunAsNonRoot || *s.RunAsUser != 65532 || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault:
		t.Errorf("the pod's security context is %+v", s)
	case *cs.AllowPrivilegeEscalation || !*cs.ReadOnlyRootFilesystem || len(cs.Capabilities.Drop) != 1 ||
		cs.Capabilities.Drop[0] != "ALL" || len(cs.Capabilities.Add) > 0:
		t.Errorf("the container's security context is %+v", cs)
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		if v.HostPath != nil {
			t.Errorf("%s is a folder of the host", v.Name)
		}
		volumes[v.Name] = true
	}
	mounted := map[string]bool{}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] || mounted[m.MountPath] {
			t.Errorf("%s at %s: no such volume, or another is there", m.Name, m.MountPath)
		}
		if m.Name != "decisions" && !m.ReadOnly {
			t.Errorf("%s can be written to", m.Name)
		}
		delete(volumes, m.Name)
		mounted[m.MountPath] = true
	}
	if len(volumes) > 0 {
		t.Errorf("not mounted: %v", volumes)
	}
	for _, probe := range []*core.Probe{c.LivenessProbe, c.ReadinessProbe} {
		if !slices.ContainsFunc(c.Ports, func(p core.ContainerPort) bool {
			return p.Name == probe.HTTPGet.Port.StrVal &&
				p.ContainerPort == 8081
		}) {
			t.Errorf("no port is %v", probe.HTTPGet.Port)
		}
	}
}

// checkArguments: files that flags name are in volumes, addresses are ports.
func checkArguments(t *testing.T, pod core.PodSpec, values map[string]any) {
	t.Helper()
	c := pod.Containers[0]
	for _, arg := range c.Args {
		flag, value, _ := strings.Cut(arg, "=")
		switch {
		case strings.HasSuffix(flag, "-address") && value != "":
			if !slices.ContainsFunc(c.Ports, func(p core.ContainerPort) bool { return value == fmt.Sprintf(":%d", p.ContainerPort) }) {
				t.Errorf("%s is no port of the container", arg)
			}
		case strings.HasPrefix(value, "/") && flag != "--models":
			if !slices.ContainsFunc(c.VolumeMounts, func(m core.VolumeMount) bool { return strings.HasPrefix(value+"/", m.MountPath+"/") }) {
				t.Errorf("%s is in no volume", arg)
			}
		case flag == "--namespaces":
			var names []string
			for _, name := range values["namespaces"].([]any) {
				names = append(names, name.(string))
			}
			if value != strings.Join(names, ",") {
				t.Errorf("%s for %v", arg, names)
			}
		}
	}
	for _, needed := range []string{"run", "--leader-elect", "--lease-namespace=$(POD_NAMESPACE)"} {
		if !slices.Contains(c.Args, needed) {
			t.Errorf("%s is not among %v", needed, c.Args)
		}
	}
}
