package policies

import (
	"fmt"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

var staticKind = kind{
	name:  "static",
	about: "sets replicas once and holds; without settings it leaves everything as the app says",
	options: func(app *loadline.App) []Option {
		options := []Option{
			{"replicas", "", "replicas of every service", count(0, 100000)},
		}
		for _, s := range app.Services {
			if s.Name != "replicas" {
				options = append(options, Option{s.Name, "", "replicas of this service", count(0, 100000)})
			}
		}
		return options
	},
	make: func(app *loadline.App, v values) (loadline.Policy, error) {
		p := &Static{}
		for i, s := range app.Services {
			key := s.Name // what is said of one service goes before what is said of all
			if !v.isSet(key) {
				key = "replicas"
			}
			if !v.isSet(key) {
				continue
			}
			n := v.int(key)
			p.set = append(p.set, loadline.ServiceProposal{
				Service: i,
				Setting: loadline.Setting{Replicas: loadline.Some(n)},
				Reason:  fmt.Sprintf("%d replicas were asked for", n),
			})
		}
		return p, nil
	},
}

// Static does nothing, or sets what it was given: the floor of every
// comparison, and the way to look at an application at a fixed size.
type Static struct{ set []loadline.ServiceProposal }

// Name of the policy.
func (*Static) Name() string { return "static" }

// Needs nothing but to be asked now and then, in case somebody else changed
// what it set.
func (*Static) Needs() loadline.Needs {
	return loadline.Needs{Period: time.Minute, Scrape: 15 * time.Second, Window: time.Minute}
}

// Decide says the same each time.
func (p *Static) Decide(time.Time, loadline.Situation) (loadline.Proposal, error) {
	return loadline.Proposal{Services: slices.Clone(p.set)}, nil
}
