package advice

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
)

// Target is the application that manifests are for: its bounds and the sizes of its pods today.
// Services are Deployments of the same name.
type Target struct {
	App        *loadline.App
	Namespace  string // empty = the manifests name none
	Container  string // whose sizes are patched; empty = the service's name
	Prometheus string // for KEDA's triggers and LoadLines; empty = the usual address in a cluster
	Preset     string // of the metrics in Prometheus, for a LoadLine; empty = it is detected
	Registry   string // folder of promoted models, for a LoadLine; empty = registry

	// Of a LoadLine whose deployment was judged: its fallback rule, its axes, and the ConfigMap of the
	// application model, which policies and guards read too. Empty = the defaults, and none.
	Fallback string
	Axes     []string
	Twin     string
}

// DefaultPrometheus is where the operator's charts put it.
const DefaultPrometheus = "http://prometheus-operated.monitoring:9090"

// Manifests are what a policy means on Kubernetes, in the notation of policies: the
// autoscalers' own resources, patches of requests and limits, or a LoadLine where Loadline itself
// has to run.
func Manifests(spec string, t Target) ([]Document, error) {
	method, v, err := policy.Read(spec, t.App)
	if err != nil {
		return nil, err
	}
	var all []Document
	var remarks []string
	switch method {
	case "hpa", "sre", "keda":
		all, remarks = t.setup(v)
		scalers := t.hpas
		switch {
		case method == "keda":
			scalers = t.scaledObjects
		case len(policy.FloorsOf(v["floor"])) > 0:
			scalers = t.scaledByCPU // an HPA has one minimum; KEDA makes the HPA here, and has triggers by the clock
		}
		more, err := scalers(v)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	case "vpa":
		all = t.vpas(v)
	case "hpa+vpa":
		more, err := t.hpas(v)
		if err != nil {
			return nil, err
		}
		all = append(t.vpas(v), more...)
	case "static":
		all = t.static(v)
	case "by-service":
		all, err = t.byService(spec)
	default:
		all, err = t.loadLine(spec, method)
	}
	if len(all) > 0 {
		all[0].Comments = append(remarks, all[0].Comments...)
	}
	return all, err
}

// byService is the manifests of every rule, of its services.
func (t Target) byService(spec string) ([]Document, error) {
	rules, err := policy.RulesOf(spec, t.App)
	if err != nil {
		return nil, err
	}
	var all []Document
	for _, r := range rules {
		documents, err := Manifests(r.Spec, t)
		if err != nil {
			return nil, err
		}
		for _, d := range documents {
			text, err := json.Marshal(d.Object)
			if err != nil {
				return nil, err
			}
			var o Object
			if err := json.Unmarshal(text, &o); err != nil {
				return nil, err
			}
			if slices.Contains(r.Services, o.Name) {
				all = append(all, d)
			}
		}
	}
	return all, nil
}

// setup is the patches for requests and limits that a rule is set up with, its reserve, and remarks
// on what has no manifest.
func (t Target) setup(v policy.Values) (all []Document, remarks []string) {
	for i := range t.App.Services {
		s := &t.App.Services[i]
		if size := policy.SizeUnder(v["request"], v["limits"], s); size != s.Size {
			all = append(all, t.Patch(i, size))
		}
	}
	if _, known := policy.CoresOf(v["request"]); !known && v["request"] != "keep" {
		remarks = append(remarks, fmt.Sprintf("CPU requests: set them to the %s percentile of past use for each pod; "+
			"loadline rightsize has the figures.", v["request"]))
	}
	if reserve := v.Float("reserve"); reserve > 0 {
		all = append(all, t.placeholders(reserve)...)
	}
	return all, remarks
}

// metadata of an object.
func (t Target) metadata(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: t.Namespace}
}

// object of a kind that this program has no types of.
func (t Target) object(apiVersion, kind, name string, spec map[string]any) map[string]any {
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": t.metadata(name), "spec": spec}
}

// whole is a setting that is an integer in a manifest, rounded down: a lower target is the safer
// one, which a remark then says.
func whole(what, text string) (value int32, remark []string, err error) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || number < 1 || number > math.MaxInt32 {
		return 0, nil, fmt.Errorf("%s %q must be a number of at least 1", what, text)
	}
	value = int32(number)
	if float64(value) != number {
		remark = []string{fmt.Sprintf("The %s was %s; the field is an integer.", what, text)}
	}
	return value, remark, nil
}
