package policy

import "github.com/loadline/loadline"

// sreMethod is what an experienced operator sets up by hand with what Kubernetes has: HPA with
// requests that cover most of what pods use, without CPU limits, fast upwards and slow downwards,
// with a reserve of placeholder pods, and with floors for the hours that are known to be busy.
// It is hpa with other defaults (sreDefaults); everything can be set.
var sreMethod = Method{
	Name:   "sre",
	About:  "HPA as an experienced operator sets it up: sized requests, lifted limits, fast scale-up, a reserve, floors by the clock",
	Search: sreSearch,
	Options: func(app *loadline.App) []Option {
		options := hpaMethod.Options(app)
		for i := range options {
			if other, differs := sreDefaults[options[i].Key]; differs {
				options[i].Default = other
			}
		}
		return options
	},
	New: func(app *loadline.App, v Values) (loadline.Policy, error) {
		p, err := newHPAs(app, v)
		if err != nil {
			return nil, err
		}
		return aroundRule(app, v, &operator{p})
	},
}

// sreDefaults: a target with room for the time until a pod is ready, and steps that are not
// limited by the number of pods; the window for scale-down is HPA's.
var sreDefaults = map[string]string{
	"target": "60", "limits": "lifted", "request": "p95", "reserve": "1", "up-policies": "20/15s+400%/15s",
}

// operator is an HPA under another name.
type operator struct{ *HPA }

// Name of the policy.
func (*operator) Name() string { return "sre" }
