package decisionlog

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// sight collects the observed figures, the missing ones, and their age. An age is printed once,
// and again where it differs by a second or more.
type sight struct {
	parts, absent, broken []string
	age                   time.Duration
	aged                  bool
}

// add adds a figure, present or not.
func (v *sight) add(name string, s Sample, write func(float64) string) {
	switch {
	case !s.Present:
		v.absent = append(v.absent, name)
	case math.IsNaN(s.Value) || math.IsInf(s.Value, 0):
		v.broken = append(v.broken, name)
	default:
		text := write(s.Value)
		if !v.aged || (s.Age-v.age).Abs() >= time.Second {
			text += fmt.Sprintf(" (%s old)", span(s.Age))
			v.age, v.aged = s.Age, true
		}
		v.parts = append(v.parts, text)
	}
}

// seen is the policy's observation of the service and its users.
func seen(e Entry, s *Service) []string {
	var v sight
	v.add("request rate", s.Seen.Samples.Of(loadline.ServiceRate), func(x float64) string {
		return loadline.DescribeNumber(x) + " requests/s"
	})
	v.add("CPU", s.Seen.Samples.Of(loadline.ServiceCPU), func(x float64) string {
		return used("CPU", x,
			readyPods(s)*float64(s.Desired.Size.CPURequest), loadline.DescribeCores)
	})
	v.add("memory", s.Seen.Samples.Of(loadline.ServiceMemory), func(x float64) string {
		return used("memory", x, readyPods(s)*float64(s.Desired.Size.MemoryRequest), func(x float64) string {
			return loadline.DescribeMemory(int64(x))
		})
	})
	v.add("latency", s.Seen.Samples.Of(loadline.ServiceLatencyP99), func(x float64) string { return "p99 " + millis(x) + ofPartialSLO(s) })
	all := []string{}
	v.parts = append(v.parts, fmt.Sprintf("%.0f of %s ready", readyPods(s), loadline.DescribeReplicas(s.Desired.Replicas)))
	all = append(all, "Observed: "+strings.Join(v.parts, ", ")+".")
	all = append(all, covered(s)...)
	if len(v.absent) > 0 {
		all = append(all, capital(loadline.JoinWords(v.absent))+" "+wasOrWere(len(v.absent))+" not measured.")
		all = append(all, reported(e, s.Name)...)
	}
	if len(v.broken) > 0 {
		all = append(all, capital(loadline.JoinWords(v.broken))+" "+wasOrWere(len(v.broken))+" not a number.")
	}
	if s.Expecting != nil {
		all = append(all, fmt.Sprintf("Earlier plans were still under way: %s.",
			strings.Join(axes(s.Desired.Allocation(), s.Expecting.Allocation()), ", ")))
	}
	return append(all, users(e, s)...)
}

// newFor is how long a ready pod may be without a sample before it is missing rather
// than new.
const newFor = 75 * time.Second

// covered says how many of the ready pods are behind the figures, if not all are.
func covered(s *Service) []string {
	measured, missing := 0, 0
	for i := range s.Seen.Pods {
		p := &s.Seen.Pods[i]
		switch {
		case p.Phase != loadline.PodReady.String():
		case p.Samples.Of(loadline.PodCPU).Present:
			measured++
		case p.Ready == nil || time.Duration(*p.Ready) >= newFor:
			missing++
		}
	}
	if measured == 0 || missing == 0 {
		return nil
	}
	text := fmt.Sprintf("The CPU of %d of %d ready pods was measured (%.0f%%), and the figures are scaled to all of them", measured,
		measured+missing, 100*float64(measured)/float64(measured+missing))
	if 10*missing > measured+missing {
		text += "; nothing is reduced while more than one in ten is missing"
	}
	return []string{text + "."}
}

// shown are the metrics of a service that are printed in a paragraph.
var shown = []string{loadline.ServiceRate.String(), loadline.ServiceCPU.String(), loadline.ServiceMemory.String(),
	loadline.ServiceLatencyP99.String()}

// reported is the part of the report on the metrics that concerns a service: the
// service itself, its pods, and the kinds of requests that visit it;
// the metrics that are shown come first.
func reported(e Entry, service string) []string {
	const most = 5
	var parts, others []string
	for i := range e.Record.Absent {
		switch d := &e.Record.Absent[i]; {
		case !concerns(d, e.App, service):
		case d.Metric == "" || d.Scope == loadline.OfService && slices.Contains(shown, d.Metric):
			parts = append(parts, d.String())
		default:
			others = append(others, d.String())
		}
	}
	parts = append(parts, others...)
	if len(parts) == 0 {
		return nil
	}
	if n := len(parts) - most; n > 0 {
		parts = append(parts[:most], fmt.Sprintf("and %d more", n))
	}
	return []string{"The metrics report: " + strings.Join(parts, "; ") + "."}
}

func concerns(d *loadline.Diagnosis, app *loadline.App, service string) bool {
	if d.Scope != loadline.OfKind || app == nil {
		return d.Concerns(loadline.OfService, service)
	}
	at := app.ServiceIndex(service)
	for i := range app.Kinds {
		if visits(&app.Kinds[i].Root, at) && d.Concerns(loadline.OfKind, app.Kinds[i].Name) {
			return true
		}
	}
	return false
}

func ofPartialSLO(s *Service) string {
	if s.PartialSLO == nil {
		return ""
	}
	return fmt.Sprintf(" against its part of the SLO, p%g %s", float64(s.PartialSLO.Percentile),
		millis(time.Duration(s.PartialSLO.Latency).Seconds()))
}

func readyPods(s *Service) float64 {
	n := 0.0
	for i := range s.Seen.Pods {
		if s.Seen.Pods[i].Phase == loadline.PodReady.String() {
			n++
		}
	}
	return n
}

// used is a share of the request, if there is one.
func used(what string, v, requested float64, write func(float64) string) string {
	if !(requested > 0) {
		return fmt.Sprintf("%s of %s", write(v), what)
	}
	return fmt.Sprintf("%s at %s of the request", what, percent(v/requested))
}

// users is the kind of request through this service that was worst relative to its SLO.
func users(e Entry, s *Service) []string {
	if e.App == nil {
		return nil
	}
	service := e.App.ServiceIndex(s.Name)
	var worst *Kind
	var slo loadline.SLO
	ratio := -1.0
	for i := range e.Record.Kinds {
		k := &e.Record.Kinds[i]
		at := e.App.KindIndex(k.Name)
		if at < 0 || !k.Samples.Of(loadline.KindAtSLO).Present || e.App.Kinds[at].SLO.Latency <= 0 || !visits(&e.App.Kinds[at].Root,
			service) {
			continue
		}
		if r := k.Samples.Of(loadline.KindAtSLO).Value / e.App.Kinds[at].SLO.Latency.Seconds(); r > ratio {
			worst, slo, ratio = k, e.App.Kinds[at].SLO, r
		}
	}
	if worst == nil {
		return nil
	}
	text := fmt.Sprintf("Users of %s had p%g %s against %s", worst.Name, slo.Percentile,
		millis(worst.Samples.Of(loadline.KindAtSLO).Value), millis(slo.Latency.Seconds()))
	if over := worst.Samples.Of(loadline.KindOverSLO); over.Present && over.Value > 0 {
		text += fmt.Sprintf(", %s of the requests over it or failed", percent(over.Value))
	}
	return []string{text + "."}
}

// foreseen is the forecast, as far as it reaches.
func foreseen(s *Service) []string {
	f := s.Forecast
	if f == nil || len(f.Median) == 0 {
		return nil
	}
	last := len(f.Median) - 1
	if math.IsNaN(float64(f.Median[last])) {
		return nil
	}
	text := fmt.Sprintf("For %s ahead %s requests/s were forecast", span(time.Duration(f.Step)*time.Duration(last+1)),
		loadline.DescribeNumber(float64(f.Median[last])))
	if last < len(f.High) && !math.IsNaN(float64(f.High[last])) {
		text += fmt.Sprintf(", %s as the high figure", loadline.DescribeNumber(float64(f.High[last])))
	}
	return []string{text + "."}
}

// expected is the twin's estimate for the plan and for the runner-up.
func expected(r *Record, s *Service) []string {
	if s.Outlook != nil {
		return sentencesOf(estimated(s))
	}
	var all []string
	if s.Plan != nil && r.Expected != nil {
		all = append(all, fmt.Sprintf("With this the twin expected %s, for %s in all.", outcome(r.Expected),
			loadline.DescribeCores(float64(r.Expected.Cores))))
	} else if s.Plan != nil || s.Proposal != nil {
		all = append(all, notEstimated+".")
	}
	if s.Proposal == nil || s.Proposal.RunnerUp == nil {
		return all
	}
	next := s.Proposal.RunnerUp
	text := "Runner-up was " + next.Setting.Setting().Describe()
	if next.Reason != "" {
		text += " (" + trimReason(next.Reason) + ")"
	}
	if next.Expected != nil {
		text += ": expected " + outcome(next.Expected)
		if s.Plan != nil && r.Expected != nil {
			text += ", " + moreCores(float64(next.Expected.Cores-r.Expected.Cores))
		}
	}
	return append(all, text+".")
}

func sentencesOf(parts []string) []string {
	for i := range parts {
		parts[i] += "."
	}
	return parts
}

func outcome(o *Outlook) string {
	text := "nothing of " + o.Kind + " to succeed"
	if o.Latency > 0 {
		text = fmt.Sprintf("p%g %s of %s (%s of the SLO)", float64(o.Percentile), millis(time.Duration(o.Latency).Seconds()), o.Kind,
			percent(float64(o.OverSLO)))
	}
	if o.Failed >= 0.0005 {
		text += fmt.Sprintf(", %s of the requests failing", percent(float64(o.Failed)))
	}
	return text
}

func moreCores(more float64) string {
	switch {
	case math.Abs(more) < 0.005:
		return "at the same cost"
	case more > 0:
		return loadline.DescribeCores(more) + " more"
	}
	return loadline.DescribeCores(-more) + " less"
}

func wasOrWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
