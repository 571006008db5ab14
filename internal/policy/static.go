package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

var staticMethod = Method{
	Name:  "static",
	About: "sets replicas and CPU once and holds; without settings it leaves everything as the app says",
	Options: func(app *loadline.App) []Option {
		options := []Option{
			{"replicas", "", "replicas of every service", Count(0, 100000)},
			{"cpu", "", "cores of every replica, as its request and its limit", Number(0.001, 1000)},
			{"limit", "", "cores of every replica as its limit, if not as its request", Number(0.001, 1000)},
			{"period", "1m", "between checks of the sizes", Span(time.Second, time.Hour)},
		}
		own := options
		for _, s := range app.Services {
			if !slices.ContainsFunc(own, func(o Option) bool { return o.Key == s.Name }) {
				options = append(options, Option{s.Name, "", "replicas of this service", Count(0, 100000)})
			}
		}
		return options
	},
	New: func(app *loadline.App, v Values) (loadline.Policy, error) {
		p := &Static{period: v.Span("period")}
		for i, s := range app.Services {
			var set loadline.Setting
			var asked []string
			key := s.Name // a service's own setting takes precedence
			if key == "cpu" || key == "limit" || key == "period" || !v.IsSet(key) {
				key = "replicas"
			}
			if v.IsSet(key) {
				set.Replicas = loadline.Some(v.Int(key))
				asked = append(asked, fmt.Sprintf("%d replicas", v.Int(key)))
			}
			if v.IsSet("cpu") {
				set.CPURequest, set.CPULimit = loadline.Some(v.Float("cpu")), loadline.Some(v.Float("cpu"))
				asked = append(asked, fmt.Sprintf("%g cores each", v.Float("cpu")))
			}
			if v.IsSet("limit") {
				set.CPULimit = loadline.Some(v.Float("limit"))
				asked = append(asked, fmt.Sprintf("at most %g cores each", v.Float("limit")))
			}
			if !set.Empty() {
				p.set = append(p.set, loadline.ServiceProposal{Service: i, Setting: set,
					Reason: strings.Join(asked, " of ") + " are configured"})
			}
		}
		return p, nil
	},
}

// Static does nothing, or sets what it was given: the simplest baseline, and the way to observe
// an application at a fixed size.
type Static struct {
	set    []loadline.ServiceProposal
	period time.Duration
}

// Name of the policy.
func (*Static) Name() string { return "static" }

// Needs only a period, in case something else changed its settings.
func (p *Static) Needs() loadline.Needs {
	return loadline.Needs{Period: p.period, Scrape: 15 * time.Second, Window: time.Minute}
}

// Decide always proposes the same.
func (p *Static) Decide(time.Time, loadline.Situation) (loadline.Proposal, error) {
	return loadline.Proposal{Services: slices.Clone(p.set)}, nil
}
