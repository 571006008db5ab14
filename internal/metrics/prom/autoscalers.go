package prom

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/loadline/loadline/internal/history"
)

// Series of kube-state-metrics (2.0 and later) on HorizontalPodAutoscalers.
const (
	hpaInfo   = "kube_horizontalpodautoscaler_info"
	hpaMin    = "kube_horizontalpodautoscaler_spec_min_replicas"
	hpaMax    = "kube_horizontalpodautoscaler_spec_max_replicas"
	hpaTarget = "kube_horizontalpodautoscaler_spec_target_metric"
)

// hpaLabels are those that matter of these series.
const hpaLabels = "horizontalpodautoscaler, scaletargetref_name, workload, metric_name, metric_target_type"

// autoscalers that scale the services of a namespace at an instant, and what of them cannot be
// used. Values are those of the newest scrape within ten minutes, so that a gap at the end
// does not hide them.
func (c *Client) autoscalers(ctx context.Context, p *Preset, s Setting, at time.Time) (all []history.Autoscaler, notes []string,
	err error) {
	ask := func(series string) (model.Vector, error) {
		query := fmt.Sprintf(`last_over_time(%s{namespace="$namespace"}[%s])`, series, promDuration(recently))
		if series == hpaInfo {
			query = fmt.Sprintf(`label_replace(%s, "workload", "$1", "scaletargetref_name", "$deployment")`, query)
		}
		// Several scrapers, or a restart of the exporter, make several series of one autoscaler.
		query = fmt.Sprintf("max by (%s) (%s)", hpaLabels, query)
		v, err := c.Query(ctx, strings.ReplaceAll(p.Expand(query, s), "$deployment", "(.*)"), at) // a preset without that variable
		if err != nil {
			return nil, fmt.Errorf("look for autoscalers: %w", err)
		}
		return v, nil
	}
	info, err := ask(hpaInfo)
	if err != nil || len(info) == 0 {
		return nil, nil, err
	}
	by := map[string]*history.Autoscaler{}
	for _, v := range info {
		name, of := string(v.Metric["horizontalpodautoscaler"]), string(cmp.Or(v.Metric["workload"], v.Metric["scaletargetref_name"]))
		if name != "" && of != "" && by[name] == nil {
			by[name] = &history.Autoscaler{Name: name, Service: of, MinReplicas: 1}
		}
	}
	for _, series := range []string{hpaMin, hpaMax, hpaTarget} {
		found, err := ask(series)
		if err != nil {
			return nil, nil, err
		}
		for _, v := range found {
			a, value := by[string(v.Metric["horizontalpodautoscaler"])], float64(v.Value)
			switch {
			case a == nil || math.IsNaN(value):
			case series == hpaMin:
				a.MinReplicas = int(value)
			case series == hpaMax:
				a.MaxReplicas = int(value)
			default:
				a.Targets = append(a.Targets, history.AutoscalerTarget{
					Metric: string(v.Metric["metric_name"]), Type: string(v.Metric["metric_target_type"]), Value: value,
				})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		a := by[name]
		if a.MaxReplicas < 1 {
			notes = append(notes, fmt.Sprintf("autoscaler %s of %s has no upper bound in the metrics and is left out", name, a.Service))
			continue
		}
		slices.SortFunc(a.Targets, func(x, y history.AutoscalerTarget) int {
			return cmp.Or(cmp.Compare(x.Metric, y.Metric), cmp.Compare(x.Type, y.Type))
		})
		all = append(all, *a)
	}
	return all, notes, nil
}
