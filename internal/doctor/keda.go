package doctor

import (
	"context"
	"path"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// keda reports whether KEDA is installed, its version, and whether its ScaledObjects have the
// HPA's tolerance. Without a LoadLine that needs it, that is only a note.
func (e *exam) keda(ctx context.Context) {
	a := e.of(OfCluster)
	there, err := e.served("keda.sh/v1alpha1", "scaledobjects")
	if err != nil {
		e.unseen(a, "keda", "whether KEDA is installed", err, "")
		return
	}
	e.hasKEDA = there
	needed := e.any(byKEDA)
	switch {
	case !there && needed:
		a.fault("keda", "install KEDA 2.17 or later, or set movedBy: Scale",
			"KEDA is not installed, and a LoadLine leaves replicas to it.")
		return
	case !there:
		a.note("keda", "", "KEDA is not installed; it is needed only for services with movedBy: KEDA.")
		return
	}
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(crdKind)
	if err := e.Reader.Get(ctx, types.NamespacedName{Name: "scaledobjects.keda.sh"}, crd); err != nil {
		a.note("keda", "ask for get on customresourcedefinitions", "KEDA is installed; its version could not be read.")
		return
	}
	version := e.kedaVersion(ctx, crd)
	all := map[string]bool{}
	fields(schemaOf(versionOf(crd.Object, "v1alpha1")), "", all)
	switch {
	case needed && !all["spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleUp.tolerance"]:
		a.warn("keda", `upgrade KEDA (2.21 has it), or write tolerance: overshoot into the trigger's metadata (docs/keda.md, "The trap")`,
			"KEDA %s drops an HPA's tolerance: from ten replicas on, one more is not followed.", version)
	case needed && strings.HasPrefix(strings.TrimPrefix(version, "v"), "2.") && !all["spec.fallback.behavior"]:
		a.warn("keda", "upgrade KEDA to 2.17 or later", "KEDA %s has no fallback.behavior: its fallback may take replicas away.", version)
	default:
		a.ok("keda", "KEDA %s is installed.", version)
	}
}

// kedaVersion is on the label of its definitions, or else the tag of its operator's
// image.
func (e *exam) kedaVersion(ctx context.Context, crd *unstructured.Unstructured) string {
	if v := crd.GetLabels()["app.kubernetes.io/version"]; v != "" {
		return v
	}
	var list appsv1.DeploymentList
	if err := e.Reader.List(ctx, &list, client.MatchingLabels{"app": "keda-operator"}); err == nil {
		for _, d := range list.Items {
			for _, c := range d.Spec.Template.Spec.Containers {
				if _, tag, tagged := strings.Cut(path.Base(c.Image), ":"); tagged {
					return tag
				}
			}
		}
	}
	return "of an unknown version"
}
