package doctor

import (
	"context"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loadline/loadline/api/v1alpha1"
)

// Minor versions of Kubernetes in which something became usable.
const (
	resizeByDefault    = 33 // in-place resize, beta
	resizeStable       = 35
	toleranceByDefault = 35 // HPAConfigurableTolerance
	policiesStable     = 36 // MutatingAdmissionPolicy v1
)

// server reads the version of the API server; false if it is not reachable.
func (e *exam) server() bool {
	a := e.of(OfCluster)
	v, err := e.Discovery.ServerVersion()
	switch {
	case apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err):
		a.fault("api-server", "kubectl auth whoami, with the same --kubeconfig and --context", "The API server does not let you in: %v",
			err)
		return false
	case err != nil:
		a.fault("api-server", "kubectl version, with the same --kubeconfig and --context", "The API server does not answer: %v", err)
		return false
	}
	e.report.Reachable, e.report.Version = true, v.GitVersion
	if v.Major == "1" {
		e.minor, _ = strconv.Atoi(strings.TrimRight(v.Minor, "+")) // some providers write 33+
	}
	a.ok("api-server", "Kubernetes %s answers.", v.GitVersion)
	return true
}

func vertical(s *v1alpha1.Service) bool {
	return slices.ContainsFunc(s.Axes, func(x v1alpha1.Axis) bool { return x != v1alpha1.Horizontal })
}

// resize is detected by the subresource, not by the version: a feature gate may be off.
func (e *exam) resize(context.Context) {
	a := e.of(OfCluster)
	there, err := e.served("v1", "pods/resize")
	if err != nil {
		e.unseen(a, "in-place-resize", "the resources of v1", err, "")
		return
	}
	e.resizable = there
	switch {
	case there && e.minor >= resizeStable:
		a.ok("in-place-resize", "Pods can be resized in place (stable).")
	case there && e.minor >= resizeByDefault:
		a.ok("in-place-resize", "Pods can be resized in place (beta).")
	case there:
		a.note("in-place-resize", "move sizes only after a trial, or upgrade to Kubernetes 1.33 or later",
			"Pods can be resized in place, which is alpha before Kubernetes 1.33.")
	default:
		do := "upgrade to Kubernetes 1.33 or later, or turn on the feature gate InPlacePodVerticalScaling; until then keep axes: " +
			"[Horizontal]"
		if e.any(func(_ *v1alpha1.LoadLine, s *v1alpha1.Service) bool { return vertical(s) }) {
			a.fault("in-place-resize", do, "Pods cannot be resized in place, and a LoadLine has vertical axes.")
		} else {
			a.note("in-place-resize", "nothing, unless sizes are to be scaled: that needs Kubernetes 1.33 or later",
				"Pods cannot be resized in place: only replicas can be scaled, which no LoadLine goes beyond.")
		}
	}
}

// nodes with an older kubelet accept no resize, whatever the API server supports.
func (e *exam) nodes(ctx context.Context) {
	a := e.of(OfCluster)
	if !e.resizable {
		return
	}
	var list corev1.NodeList
	if err := e.Reader.List(ctx, &list); err != nil {
		a.note("nodes", "ask for list on nodes, or make sure that kubelets are 1.33 or later",
			"The kubelets' versions, on which resizing depends too, could not be read: %s.", why(err))
		return
	}
	var old []string
	for _, n := range list.Items {
		info := n.Status.NodeInfo
		if info.OperatingSystem == "windows" || minorOf(info.KubeletVersion) > 0 && minorOf(info.KubeletVersion) < resizeByDefault {
			old = append(old, n.Name)
		}
	}
	switch {
	case len(list.Items) == 0:
		a.note("nodes", "", "The cluster has no nodes.")
	case len(old) > 0:
		a.warn("nodes", "upgrade their kubelets to 1.33 or later, or keep services with vertical axes away from them",
			"%d of %s cannot resize pods (kubelet older than 1.33, or Windows): %s.", len(old), count(len(list.Items), "node",
				"nodes"), some(old))
	default:
		a.ok("nodes", "Kubelets of %s can resize pods.", count(len(list.Items), "node", "nodes"))
	}
}

// axes that services of this cluster can have.
func (e *exam) axes(context.Context) {
	a := e.of(OfCluster)
	if e.resizable {
		a.ok("axes", "Services can have the axes Horizontal, VerticalRequests and VerticalLimits.")
		return
	}
	a.ok("axes", "Services can have the axis Horizontal. VerticalRequests and VerticalLimits need in-place resize (Kubernetes 1.33 or later).")
}

// minorOf a version such as v1.33.2; 0 = not known.
func minorOf(version string) int {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 || parts[0] != "1" {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimRight(parts[1], "+"))
	return n
}

func byKEDA(_ *v1alpha1.LoadLine, s *v1alpha1.Service) bool { return s.MovedBy == v1alpha1.ByKEDA }

// tolerance of an HPA is a field whose feature gate cannot be discovered: its effect is checked
// in the HPAs themselves (scaledobject.go).
func (e *exam) tolerance(context.Context) {
	a := e.of(OfCluster)
	if !e.any(byKEDA) || e.minor == 0 {
		return
	}
	if e.minor >= toleranceByDefault {
		a.ok("hpa-tolerance", "An HPA's tolerance can be set, so that one replica more is followed from ten on.")
		return
	}
	a.note("hpa-tolerance", `turn on the gate HPAConfigurableTolerance (1.33 and 1.34), or write tolerance: overshoot `+
		`into the trigger's metadata (docs/keda.md, "The trap")`,
		"Kubernetes before 1.35 drops an HPA's tolerance unless a gate is on.")
}

func (e *exam) resourceMetrics(context.Context) {
	a := e.of(OfCluster)
	there, err := e.served("metrics.k8s.io/v1beta1", "pods")
	switch {
	case err != nil:
		a.note("resource-metrics", "kubectl get apiservice v1beta1.metrics.k8s.io",
			"The resource metrics API is there and does not answer (%v); an HPA needs it, Loadline does not.", err)
	case there:
		a.ok("resource-metrics", "The resource metrics API is there (for HPAs; Loadline does not use it).")
	default:
		a.note("resource-metrics", "install metrics-server if HPAs are to follow CPU",
			"The resource metrics API (metrics.k8s.io) is not available; an HPA needs it, Loadline does not.")
	}
}
