package policy

import (
	"slices"

	"github.com/loadline/loadline"
)

// Read is the method that a policy names, and its settings with the defaults filled in.
func Read(spec string, app *loadline.App) (method string, v Values, err error) {
	m, v, err := read(spec, app)
	return m.Name, v, err
}

// TargetOf is the CPU target of a service among the settings of hpa, sre or hpa+vpa; "off" = none.
func TargetOf(v Values, app *loadline.App, service int) string {
	name := app.Services[service].Name
	if !isOption(slices.Concat(hpaOptions(""), setupOptions(), vpaOptions("")), name) && v.IsSet(name) {
		return v[name]
	}
	return v["target"]
}

// ThresholdOf is the requests per second for each replica of a service among the settings of
// keda, and whether they are given there: else they follow from its CPU request. 0 = unknown.
func ThresholdOf(v Values, app *loadline.App, service int) (threshold float64, given bool) {
	p := newKEDA(app, v)
	threshold, _ = p.thresholdOf(service, loadline.Situation{
		App: app, Window: []loadline.Observation{{Services: make([]loadline.ServiceObservation, len(app.Services))}},
		Allocation: allocationsOf(app),
	})
	return threshold, p.cfg.threshold[service] > 0
}

func allocationsOf(app *loadline.App) []loadline.Allocation {
	all := make([]loadline.Allocation, len(app.Services))
	for i := range all {
		all[i].Size = app.Services[i].Size
	}
	return all
}

// ReplicasOf is the number of replicas of a service among the settings of static; "" = as it is.
func ReplicasOf(v Values, app *loadline.App, service int) string {
	name := app.Services[service].Name
	if !isOption(staticMethod.Options(&loadline.App{}), name) && v.IsSet(name) {
		return v[name]
	}
	return v["replicas"]
}
