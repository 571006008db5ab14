package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// ByService runs rules of its own for every service, as a namespace has them in which each workload
// is scaled by other objects: "by-service:web=hpa(target=60;down-window=60s),cart=keda(threshold=20)".
// Within the parentheses settings are separated by semicolons. Two rules that change different
// things of one service are joined by |: "web=keda(threshold=20)|vpa(cpu=off)".
//
// A rule sees the whole application, and only what it proposes for its own services counts.
type ByService struct {
	rules []ruleOf
	needs loadline.Needs
}

// ruleOf some services.
type ruleOf struct {
	loadline.Policy
	services []bool // by service: it is one of them
	period   time.Duration
	last     time.Time
}

// othersKey is the setting for services that are not named.
const othersKey = "others"

// partRules are the methods that by-service runs: those with objects of Kubernetes.
var partRules = []string{"static", "hpa", "keda", "vpa", "hpa+vpa"}

var byServiceMethod = Method{
	Name:  "by-service",
	About: "a rule of its own for every service: web=hpa(target=60;down-window=60s),cart=keda(threshold=20)",
	Options: func(app *loadline.App) []Option {
		options := []Option{{othersKey, "hpa", "rule of the services that are not named; static = they stay as they are", rulesSpec}}
		for _, s := range app.Services {
			if s.Name != othersKey {
				options = append(options, Option{s.Name, "", "rule of this service; several that change different things are joined by |", rulesSpec})
			}
		}
		return options
	},
	New: newByService,
}

func init() { Register(byServiceMethod) } // it makes policies by their names, and so needs the registry

func newByService(app *loadline.App, v Values) (loadline.Policy, error) {
	p := &ByService{}
	var faults []error
	for _, spec := range rulesOf(app, v) {
		rule, err := New(spec.spec, app)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		p.rules = append(p.rules, ruleOf{Policy: rule, services: spec.services, period: rule.Needs().Period})
		p.needs = jointNeeds(p.needs, rule.Needs())
	}
	return p, errors.Join(faults...)
}

// SetBegin gives every rule the instant that the beginning of a simulation stands for.
func (p *ByService) SetBegin(simulated, real time.Time) {
	for _, r := range p.rules {
		if rule, ok := r.Policy.(interface {
			SetBegin(simulated, real time.Time)
		}); ok {
			rule.SetBegin(simulated, real)
		}
	}
}

// servicesOf a rule.
type servicesOf struct {
	spec     string
	services []bool
}

// rulesOf the settings: each rule once, with its services.
func rulesOf(app *loadline.App, v Values) []servicesOf {
	var all []servicesOf
	for i := range app.Services {
		text := v[othersKey]
		if name := app.Services[i].Name; name != othersKey && v.IsSet(name) {
			text = v[name]
		}
		for _, rule := range strings.Split(text, "|") {
			spec, _ := unnest(rule)
			at := slices.IndexFunc(all, func(r servicesOf) bool { return r.spec == spec })
			if at < 0 {
				at = len(all)
				all = append(all, servicesOf{spec, make([]bool, len(app.Services))})
			}
			all[at].services[i] = true
		}
	}
	return all
}

// jointNeeds are those of two rules that see the same measurements; zero = of none yet.
func jointNeeds(a, b loadline.Needs) loadline.Needs {
	if a.Period == 0 {
		return b
	}
	return loadline.Needs{
		Period: min(a.Period, b.Period), Delay: max(a.Delay, b.Delay), Scrape: min(a.Scrape, b.Scrape), Window: min(a.Window, b.Window),
		Lag: max(a.Lag, b.Lag), Keep: max(a.Keep, b.Keep), Reserve: a.Reserve + b.Reserve, RecreateAfter: max(a.RecreateAfter, b.RecreateAfter),
	}
}

// nest writes a policy as one setting: hpa:target=60,down-window=60s becomes
// hpa(target=60;down-window=60s).
func nest(spec string) string {
	name, settings, has := strings.Cut(spec, ":")
	if !has || settings == "" {
		return name
	}
	return name + "(" + strings.ReplaceAll(settings, ",", ";") + ")"
}

// unnest is the inverse of nest.
func unnest(text string) (spec string, err error) {
	name, settings, has := strings.Cut(text, "(")
	if !slices.Contains(partRules, name) {
		return "", fmt.Errorf("%q must be one of %s", name, strings.Join(partRules, ", "))
	}
	if !has {
		return name, nil
	}
	settings, closed := strings.CutSuffix(settings, ")")
	if !closed || strings.ContainsAny(settings, "()") {
		return "", fmt.Errorf("%q must be like hpa(target=60;down-window=60s)", text)
	}
	return name + ":" + strings.ReplaceAll(settings, ";", ","), nil
}

// rulesSpec checks "hpa(target=60)|vpa(cpu=off)".
func rulesSpec(s string) error {
	var faults []error
	for _, rule := range strings.Split(s, "|") {
		_, err := unnest(rule)
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// Name of the policy.
func (*ByService) Name() string { return "by-service" }

// Needs are those of all rules.
func (p *ByService) Needs() loadline.Needs { return p.needs }

// Decide runs the rules that are due. Without data for any of them there is no decision.
func (p *ByService) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	var all loadline.Proposal
	var blind error
	seen := false
	for i := range p.rules {
		r := &p.rules[i]
		if !r.last.IsZero() && now.Sub(r.last) < r.period {
			continue
		}
		r.last = now
		proposal, err := r.Decide(now, s)
		switch {
		case errors.Is(err, loadline.ErrNoData):
			blind = err
			continue
		case err != nil:
			return loadline.Proposal{}, err
		}
		seen = true
		proposal.Services = slices.DeleteFunc(slices.Clone(proposal.Services), func(sp loadline.ServiceProposal) bool {
			return !r.services[sp.Service]
		})
		all = mergeProposals(all, proposal)
	}
	if !seen {
		return loadline.Proposal{}, blind
	}
	return all, nil
}

// RulesOf are the rules of a policy with the services that each is for, in the order of the
// services; one for all services if it is not by-service. Services that nothing scales are left out.
func RulesOf(spec string, app *loadline.App) (parts []Rule, err error) {
	m, v, err := read(spec, app)
	if err != nil {
		return nil, err
	}
	if m.Name != byServiceMethod.Name {
		p := Rule{Spec: spec}
		for _, s := range app.Services {
			p.Services = append(p.Services, s.Name)
		}
		return []Rule{p}, nil
	}
	for _, r := range rulesOf(app, v) {
		p := Rule{Spec: r.spec}
		for i, is := range r.services {
			if is {
				p.Services = append(p.Services, app.Services[i].Name)
			}
		}
		if p.Spec != staticMethod.Name {
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// Rule is a part of a policy: a rule and its services.
type Rule struct {
	Spec     string
	Services []string
}

// Join is the policy in which every service has rules of its own, in the notation of policies and
// without settings for single services: the shortest that has the same meaning. None = nothing
// scales the service.
func Join(app *loadline.App, rules [][]string) string {
	if same := !slices.ContainsFunc(rules, func(r []string) bool { return !slices.Equal(r, rules[0]) }); same && len(rules[0]) == 1 {
		return rules[0][0]
	}
	for _, with := range []struct{ name, key string }{{hpaMethod.Name, "target"}, {kedaMethod.Name, "threshold"}} {
		if spec, can := joinBy(app, rules, with.name, with.key); can {
			return spec
		}
	}
	var settings []string
	if slices.ContainsFunc(rules, func(r []string) bool { return len(r) == 0 }) {
		settings = append(settings, othersKey+"="+staticMethod.Name)
	}
	for i, of := range rules {
		var nested []string
		for _, spec := range of {
			nested = append(nested, nest(spec))
		}
		if len(nested) > 0 {
			settings = append(settings, app.Services[i].Name+"="+strings.Join(nested, "|"))
		}
	}
	return byServiceMethod.Name + ":" + strings.Join(settings, ",")
}

// joinBy writes rules of one method that differ in one setting alone as one policy, which has that
// setting by the names of services. Only hpa may leave services out.
func joinBy(app *loadline.App, rules [][]string, method, key string) (spec string, can bool) {
	fixed := kedaOptions(&loadline.App{})
	own, rest := make([]string, len(rules)), ""
	counts, first := map[string]int{}, true
	for i, of := range rules {
		if isOption(fixed, app.Services[i].Name) || len(of) > 1 || len(of) == 0 && method != hpaMethod.Name {
			return "", false
		}
		if len(of) == 0 {
			own[i] = "off"
			continue
		}
		name, settings, _ := strings.Cut(of[0], ":")
		value, others := takeOut(settings, key)
		if name != method || value == "" || value == "off" || !first && others != rest {
			return "", false
		}
		own[i], rest, first = value, others, false
		counts[value]++
	}
	usual := ""
	for value, n := range counts {
		if n > counts[usual] || n == counts[usual] && (len(value) < len(usual) || len(value) == len(usual) && value < usual) {
			usual = value
		}
	}
	var settings []string
	if method == hpaMethod.Name {
		settings = append(settings, key+"="+usual)
	}
	for i, value := range own {
		if value != usual || method != hpaMethod.Name {
			settings = append(settings, app.Services[i].Name+"="+value)
		}
	}
	if rest != "" {
		settings = append(settings, rest)
	}
	return method + ":" + strings.Join(settings, ","), usual != ""
}

// takeOut a setting; value "" = it is not there.
func takeOut(settings, key string) (value, others string) {
	var kept []string
	for _, field := range strings.Split(settings, ",") {
		if v, is := strings.CutPrefix(field, key+"="); is {
			value = v
		} else if field != "" {
			kept = append(kept, field)
		}
	}
	return value, strings.Join(kept, ",")
}
