package onboard

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/advice"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/resource"
	"github.com/loadline/loadline/internal/suggest"
)

// Bounds of the schema.
const (
	mostServices   = 200
	mostObjectives = 64
	mostFallback   = 1024 // characters
)

// validName is that of a LoadLine.
var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// proposing is the state of a proposal.
type proposing struct {
	seen *Seen
	out  Proposal
}

func (p *proposing) note(format string, args ...any) {
	p.out.Notes = append(p.out.Notes, fmt.Sprintf(format, args...))
}

func (p *proposing) leaveOut(w *advice.Workload, do, format string, args ...any) {
	p.out.LeftOut = append(p.out.LeftOut, LeftOut{Workload: kindAndName(w), Why: fmt.Sprintf(format, args...), Do: do})
}

// Propose LoadLines in mode Recommend.
func Propose(seen *Seen) (*Proposal, error) {
	p := &proposing{seen: seen, out: Proposal{Namespace: seen.Namespace, Preset: seen.Preset, Workloads: len(seen.Workloads.All),
		NotTakenOver: slices.Clone(seen.Workloads.LeftOut), Notes: slices.Concat(seen.Workloads.Notes, seen.Workloads.Aside)}}
	h := seen.History
	if h == nil {
		h = &history.History{}
	}
	var fit []advice.Workload
	for i := range seen.Workloads.All {
		if w := &seen.Workloads.All[i]; p.fits(w, h) {
			fit = append(fit, *w)
		}
	}
	all := groups(fit, h.Calls)
	for _, group := range all {
		if err := p.application(fit, group, len(all) == 1, h); err != nil {
			return nil, err
		}
	}
	return &p.out, nil
}

// fits reports whether a workload can be a service of a LoadLine. If not, it is left out.
func (p *proposing) fits(w *advice.Workload, h *history.History) bool {
	name := w.Object.Name
	m := h.Service(name)
	rate := 0.0
	if m != nil {
		rate = highest(m.Series[loadline.ServiceRate])
	}
	switch by := p.scaledBy(w); {
	case by != "":
		p.leaveOut(w, "", "LoadLine %s has it already", by)
	case w.Horizontal != nil && w.Horizontal.Object.Annotations[v1alpha1.TakenOverAnnotation] != "":
		p.leaveOut(w, "loadline init --give-back NAME, with the LoadLine that its annotation "+v1alpha1.TakenOverAnnotation+" names",
			"%s was taken over for a LoadLine that is not there", w.Horizontal.Object)
	case w.Fault != nil:
		p.leaveOut(w, "correct the autoscaler", "its autoscaler cannot be read: %v", w.Fault)
	case len(name) > 63 || strings.Contains(name, ","):
		p.leaveOut(w, "name it in a LoadLine by hand", "its name is longer than a service's name may be")
	case w.Replicas == 0 && w.Horizontal == nil:
		p.leaveOut(w, "", "it has no replicas and no autoscaler")
	case w.Single && w.Horizontal == nil:
		p.leaveOut(w, "name it in a LoadLine by hand if several of its pods may run at the same time",
			"its strategy is Recreate, as of a workload that must run once")
	case w.Object.Kind == "StatefulSet" && w.Horizontal == nil:
		p.leaveOut(w, "name it in a LoadLine by hand if its replicas may change",
			"it is a StatefulSet without an autoscaler: its replicas often hold data")
	case !(rate > 0):
		why, do := p.unmeasured(w, h)
		p.leaveOut(w, do, "%s", why)
	default:
		if highest(m.Series[loadline.ServiceCPU]) == 0 {
			p.note("%s has no CPU figures: have cAdvisor scraped (the kubelet's /metrics/cadvisor), which decisions need", kindAndName(w))
		}
		return true
	}
	return false
}

// unmeasured says why a workload has no requests, and what to do.
func (p *proposing) unmeasured(w *advice.Workload, h *history.History) (why, do string) {
	if p.seen.Unseen != "" {
		why, do = "no requests are measured in this namespace: "+p.seen.Unseen, "loadline doctor --prometheus URL --namespace "+p.seen.Namespace
	} else {
		why = "no requests are measured under its name"
		var names []string
		for i := range h.Services {
			names = append(names, h.Services[i].Name)
		}
		if near := suggest.Of(w.Object.Name, names); near != "" && near != w.Object.Name {
			do = fmt.Sprintf("the metrics have %q: if it is this workload, name it so in a LoadLine by hand", near)
		}
	}
	if by := p.scrapedBy(w); by != "" {
		why += "; " + by + " scrapes it, with metrics that no preset has"
		do = "give its queries in a ConfigMap (loadline history presets istio > mine.yaml), or name one of the presets' metrics as they do"
	} else if do == "" {
		do = "have its requests measured (a mesh, traces or an ingress), if it serves any"
	}
	return why, do
}

// application of a group of workloads.
func (p *proposing) application(fit []advice.Workload, group []int, alone bool, h *history.History) error {
	members := map[string]bool{}
	var list []*advice.Workload
	for _, i := range group {
		if len(list) == mostServices {
			p.leaveOut(&fit[i], "put it into a LoadLine of its own", "its application has more than %d services", mostServices)
			continue
		}
		members[fit[i].Object.Name] = true
		list = append(list, &fit[i])
	}
	at := entries(h, members)
	var guesses []Guess
	for i := range at {
		if g, measured := at[i].guess(h.Step); measured && len(guesses) < mostObjectives {
			guesses = append(guesses, g)
		}
	}
	if len(guesses) == 0 {
		for _, w := range list {
			p.leaveOut(w, "have response times measured as a histogram at the service that users call",
				"the response times of its application are not measured, so that no objective can be checked")
		}
		return nil
	}
	a := Application{Guesses: guesses, Name: p.freeName(nameOf(fit, group, alone, p.seen.Namespace, guesses[0].Service))}
	l := &v1alpha1.LoadLine{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "LoadLine"},
		ObjectMeta: metav1.ObjectMeta{Name: a.Name, Namespace: p.seen.Namespace},
	}
	l.Spec.Mode = v1alpha1.Recommend
	l.Spec.Prometheus = v1alpha1.PrometheusSource{PrometheusServer: v1alpha1.PrometheusServer{URL: p.seen.URL}, Preset: p.seen.Preset}
	for _, g := range guesses {
		l.Spec.Objectives = append(l.Spec.Objectives, v1alpha1.Objective{Kind: g.Service, Service: g.Service,
			Percentile: v1alpha1.Decimal(99), Latency: v1alpha1.Duration{Duration: g.Latency}})
	}
	for _, w := range list {
		s, of := p.serviceOf(w, h)
		l.Spec.Services = append(l.Spec.Services, s)
		a.Services = append(a.Services, of)
	}
	if d := coolDown(list); d > 0 {
		l.Spec.Guard = &v1alpha1.GuardSettings{CoolDown: &v1alpha1.CoolDownSettings{Down: &v1alpha1.Duration{Duration: d}}}
		a.Remarks = append(a.Remarks, fmt.Sprintf("coolDown.down is the longest stabilizationWindowSeconds of today's autoscalers, %v.", d))
	}
	p.fallback(&a, l, list)
	if _, err := resource.Read(l, nil); err != nil {
		return fmt.Errorf("the LoadLine that is proposed for %s is not valid, which is a fault of this program: %w", a.Name, err)
	}
	a.LoadLine = l
	p.out.Applications = append(p.out.Applications, a)
	return nil
}

// fallback is what scales the services today, so that it takes over when the policy cannot decide.
// A service without an autoscaler has the usual HPA.
func (p *proposing) fallback(a *Application, l *v1alpha1.LoadLine, list []*advice.Workload) {
	app, rules, taken := &loadline.App{}, make([][]string, len(list)), 0
	var usual []string
	for i, w := range list {
		app.Services = append(app.Services, loadline.Service{Name: w.Object.Name,
			Bounds: loadline.Bounds{MinReplicas: a.Services[i].Min, MaxReplicas: a.Services[i].Max}})
		rules[i] = []string{"hpa"}
		if w.Horizontal != nil && w.Horizontal.Rule != "" {
			rules[i], taken = []string{w.Horizontal.Rule}, taken+1
		} else {
			usual = append(usual, w.Object.Name)
		}
	}
	if taken == 0 {
		return
	}
	spec := policy.Join(app, rules)
	_, err := policy.New(spec, app)
	switch {
	case err != nil || len(spec) > mostFallback || !fallbackForm.MatchString(spec):
		a.Remarks = append(a.Remarks, "The fallback is the default, hpa: the rules of today's autoscalers do not fit into the field.")
	default:
		l.Spec.Fallback = v1alpha1.Baseline(spec)
		remark := "The fallback is what scales the services today, behaviour included"
		if len(usual) > 0 {
			remark += ", and the usual hpa for " + strings.Join(usual, ", ")
		}
		a.Remarks = append(a.Remarks, remark+".")
	}
}

// fallbackForm is that of v1alpha1.Baseline.
var fallbackForm = regexp.MustCompile(`^[^:]+(:[a-z][a-z0-9.-]*=[^,]+(,[a-z][a-z0-9.-]*=[^,]+)*)?$`)

// freeName is a name that no LoadLine has yet.
func (p *proposing) freeName(name string) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(p.seen.LoadLines, func(l v1alpha1.LoadLine) bool { return l.Name == name }) ||
			slices.ContainsFunc(p.out.Applications, func(a Application) bool { return a.Name == name })
	}
	free := name
	for n := 2; taken(free); n++ {
		free = fmt.Sprintf("%s-%d", name[:min(len(name), 58)], n)
	}
	return free
}
