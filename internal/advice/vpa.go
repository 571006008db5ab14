package advice

import (
	"fmt"

	"github.com/loadline/loadline/internal/policy"
)

// vpas are one VerticalPodAutoscaler for each service.
func (t Target) vpas(v policy.Values) []Document {
	var controlled []any
	for _, resource := range []string{"cpu", "memory"} {
		if v[resource] == "on" {
			controlled = append(controlled, resource)
		}
	}
	mode := "InPlaceOrRecreate"
	if v["update"] == "in-place" {
		mode = "InPlace"
	}
	var all []Document
	for i := range t.App.Services {
		s := &t.App.Services[i]
		container := map[string]any{
			"containerName": t.container(i), "controlledResources": controlled,
			"minAllowed": amounts(max(v.Float("min-cpu"), s.Bounds.MinCPU), max(int64(v.Float("min-memory")*mebibyte), s.Bounds.MinMemory)),
		}
		if most := amounts(s.Bounds.MaxCPU, s.Bounds.MaxMemory); len(most) > 0 {
			container["maxAllowed"] = most
		}
		all = append(all, Document{Object: t.object("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", s.Name, map[string]any{
			"targetRef":      map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": s.Name},
			"updatePolicy":   map[string]any{"updateMode": mode},
			"resourcePolicy": map[string]any{"containerPolicies": []any{container}},
		})})
	}
	if v["percentile"] != "90" || v["margin"] != "15" || v["half-life"] != "24h" {
		all[0].Comments = append(all[0].Comments, fmt.Sprintf("The recommender must run with --target-cpu-percentile=%g "+
			"--recommendation-margin-fraction=%g --cpu-histogram-decay-half-life=%s: these are settings of the whole cluster.",
			v.Float("percentile")/100, v.Float("margin")/100, v["half-life"]))
	}
	return all
}
