package controller

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/portfolio"
	"github.com/loadline/loadline/internal/resource"
	"github.com/loadline/loadline/internal/result"
)

// watchView is what a pass publishes of the comparison with the twin.
type watchView struct {
	drift    portfolio.Drift
	status   *v1alpha1.DriftStatus
	ratios   []map[portfolio.Measure]float64 // by service
	load     bool                            // the load is compared
	standing *v1alpha1.PortfolioStatus
	judged   bool // other deployments can be estimated
	idle     string
}

// view of the comparison; nil = there is no twin.
func (w *watch) view(a *application) *watchView {
	if w == nil {
		return nil
	}
	v := &watchView{drift: w.drift, standing: w.standing, judged: w.judged != nil || w.unjudged != nil, idle: w.idle,
		status: &v1alpha1.DriftStatus{Judged: w.digest}, load: w.judged != nil}
	if w.unjudged != nil {
		v.idle = w.unjudged.Error()
	}
	for i := range a.App.Services {
		name := a.App.Services[i].Name
		release, released := w.monitor.Release(i)
		d := v1alpha1.ServiceDrift{Name: name, Release: release, Released: instant(released)}
		for _, f := range w.drift.Found {
			if f.Service == name {
				d.Deviations = append(d.Deviations, deviationOf(f))
			}
		}
		if d.Release != "" || len(d.Deviations) > 0 {
			v.status.Services = append(v.status.Services, d)
		}
		v.ratios = append(v.ratios, map[portfolio.Measure]float64{portfolio.CPU: w.monitor.Ratio(i, portfolio.CPU),
			portfolio.Visits: w.monitor.Ratio(i, portfolio.Visits), portfolio.Latency: w.monitor.Ratio(i, portfolio.Latency)})
	}
	for _, f := range w.drift.Found {
		if f.Measure == portfolio.Load {
			d := deviationOf(f)
			v.status.Load = &d
		}
	}
	return v
}

func deviationOf(f portfolio.Finding) v1alpha1.Deviation {
	return v1alpha1.Deviation{Measure: string(f.Measure), Ratio: number(f.Ratio), Since: instant(f.Since)}
}

func findingOf(service string, d v1alpha1.Deviation) portfolio.Finding {
	f := portfolio.Finding{Measure: portfolio.Measure(d.Measure), Service: service}
	f.Ratio, _ = strconv.ParseFloat(string(d.Ratio), 64) // what cannot be read is 0, and measured again
	if d.Since != nil {
		f.Since = d.Since.Time
	}
	return f
}

// number in a status; NaN is left out.
func number(v float64) v1alpha1.Measured {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return resource.Measured(loadline.Sample{Value: v, At: time.Unix(1, 0)})
}

// driftReasons of what deviates, in the order of importance.
var driftReasons = map[portfolio.Measure]string{
	portfolio.CPU: v1alpha1.ReasonDriftCPU, portfolio.Visits: v1alpha1.ReasonDriftMix,
	portfolio.Latency: v1alpha1.ReasonDriftLatency, portfolio.Load: v1alpha1.ReasonLoadBeyondJudged,
}

// driftVerdict is the condition Drift. What is not compared is unknown, not false.
func (v *watchView) driftVerdict() verdict {
	d := &v.drift
	switch {
	case len(d.Found) > 0:
		return yes(driftReasons[d.Found[0].Measure], d.Text)
	case len(d.Released) > 0:
		return verdict{metav1.ConditionUnknown, v1alpha1.ReasonReleased, d.Text}
	case len(d.Missing) > 0 || d.Text == "":
		return verdict{metav1.ConditionUnknown, v1alpha1.ReasonNotCompared, d.Text}
	}
	return no(v1alpha1.ReasonAsJudged, d.Text)
}

// aheadVerdict is the condition RunnerUpAhead. It advises an evaluation; nothing switches by itself.
func (v *watchView) aheadVerdict() verdict {
	s := v.standing
	if s == nil || len(s.Others) == 0 {
		return verdict{metav1.ConditionUnknown, v1alpha1.ReasonNotEstimated, v.idle}
	}
	text := standingText(s)
	if s.InARow < portfolio.InARow {
		return no(v1alpha1.ReasonNotBetter, text)
	}
	return yes(v1alpha1.ReasonEstimatedBetter, fmt.Sprintf("%s; in %d estimates in a row. To prove it: loadline history pull -o past2, "+
		"loadline evaluate RUN --history past2, loadline promote RUN", text, s.InARow))
}

// standingText compares the deployment that runs with the one that is ahead, or with the first of
// the others.
func standingText(s *v1alpha1.PortfolioStatus) string {
	other := &s.Others[0]
	for i := range s.Others {
		if s.Others[i].Name == s.Ahead {
			other = &s.Others[i]
		}
	}
	text := fmt.Sprintf("%s: %s costs %s and %s %s %s a month, with %s and %s of the requests over the SLO", s.Basis, s.Current.Name,
		money(s.Current.PerMonth), other.Name, money(other.PerMonth), s.Currency, share(s.Current.OverSLO), share(other.OverSLO))
	if other.Error != "" {
		text += fmt.Sprintf(" (error of the difference %s)", share(other.Error))
	}
	return text + fmt.Sprintf(", under the load of the %v until %s", s.To.Sub(s.From.Time), s.To.UTC().Format("2006-01-02 15:04 UTC"))
}

func money(m v1alpha1.Measured) string {
	v, err := strconv.ParseFloat(string(m), 64)
	if err != nil {
		return "?"
	}
	return fmt.Sprintf("%.2f", v)
}

func share(m v1alpha1.Measured) string {
	v, err := strconv.ParseFloat(string(m), 64)
	if err != nil {
		return "?"
	}
	return result.Percent(result.Number(v))
}

// remark on a decision: what deviates from the twin, and which deployment is ahead. Nothing
// otherwise.
func (w *watch) remark() string {
	if w == nil {
		return ""
	}
	text := ""
	if len(w.drift.Found) > 0 {
		text = "the application does not behave as its twin: " + w.drift.Text
	}
	if w.standing != nil && w.standing.InARow >= portfolio.InARow && len(w.standing.Others) > 0 {
		text = sentence(text, standingText(w.standing))
	}
	return text
}

// watch publishes the comparison with the twin. What is not compared has no value.
func (m *applicationMetrics) watch(v *view) {
	if m == nil {
		return
	}
	for _, g := range []*prometheus.GaugeVec{m.all.drift, m.all.driftRatio, m.all.estimated, m.all.estimatedSL} {
		g.DeletePartialMatch(m.labels)
	}
	w := v.watch
	if w == nil {
		return
	}
	found := map[portfolio.Measure]float64{}
	for _, f := range w.drift.Found {
		found[f.Measure] = 1
	}
	for i := range w.ratios {
		for measure, ratio := range w.ratios[i] {
			if math.IsNaN(ratio) {
				continue
			}
			found[measure] += 0 // it is compared
			labels := m.with("service", v.app.App.Services[i].Name)
			labels["measure"] = string(measure)
			m.all.driftRatio.With(labels).Set(ratio)
		}
	}
	if w.load && len(w.drift.Missing) == 0 {
		found[portfolio.Load] += 0
	}
	for measure, on := range found {
		m.all.drift.With(m.with("measure", string(measure))).Set(on)
	}
	if w.standing == nil {
		return
	}
	m.estimate("current", &w.standing.Current)
	for i := range w.standing.Others {
		m.estimate("other", &w.standing.Others[i])
	}
}

func (m *applicationMetrics) estimate(role string, e *v1alpha1.DeploymentEstimate) {
	labels := m.with("role", role)
	labels["deployment"] = e.Name
	for gauge, text := range map[*prometheus.GaugeVec]v1alpha1.Measured{m.all.estimated: e.PerMonth, m.all.estimatedSL: e.OverSLO} {
		if number, err := strconv.ParseFloat(string(text), 64); err == nil {
			gauge.With(labels).Set(number)
		}
	}
}
