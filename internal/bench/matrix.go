package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/suggest"
)

// Matrix is a comparison: every policy in every scene. Scenes are listed, or all combinations of
// applications, workloads and perturbations.
type Matrix struct {
	Suite         string
	Scenes        []Scene
	Apps          []App
	Workloads     []Workload
	Policies      []Policy
	Perturbations []string // names; none = "none"

	Seeds     int    // runs of each case
	FirstSeed uint64 // 0 = 1
	Engine    string // "" = event
	CPU       sim.CPUModel
	WarmUp    time.Duration
	Cluster   pool.Cluster // of the combinations; the zero value has each application's own nodes
	// Neighbours are the levels at which settings are calibrated; nil = NeighbourLevels, empty = only
	// in the cluster of the runs.
	Neighbours []float64
	// Margin is the part of the allowed share over the SLO that a calibrated setting may use; 0 = 0.7.
	Margin float64
	// Floors is the value of the setting floor that earlier data suggest for what is calibrated; "" =
	// from the validation data.
	Floors string
	// Churn limits the changes of a calibrated setting; nil = any.
	Churn    *Churn
	Baseline string // label of the policy that others are compared with; "" = the first policy
	Training Training
}

// Training is the same for every policy to be trained.
type Training struct {
	Steps  int // in the environment; 0 = DefaultTrainingSteps
	Models int // trained with different seeds, which the runs use in turn, at most as many as there are runs; 0 = 3
}

// DefaultTrainingSteps are enough for tabular methods, and for a teacher to be near its best on
// an application of forty services.
const DefaultTrainingSteps = 8_000

// App is an application to run.
type App struct {
	Name  string
	Model *loadline.App
}

// LoadApp reads one by its name or file.
func LoadApp(name string) (App, error) {
	m, err := apps.Load(name)
	if err != nil {
		return App{}, err
	}
	return App{Name: m.App.Name, Model: m.App}, nil
}

// Policy is one contender: a deployment of a policy.
type Policy struct {
	Spec       string // name:key=value,...
	Label      string // its name in tables
	Calibrated bool   // its best setting is searched on validation data
	Once       bool   // calibrated, with one setting for all applications and workloads
	Trained    bool   // its model is trained on separate data
	Warm       bool   // it starts with a history of the days before
	Brownout   bool   // its guard may turn off the application's optional services

	// As a LoadLine would run it: behind the guard with this fallback rule, at this interval; "" =
	// without a guard, as a rule of others runs.
	Guard         string
	GuardSettings *guard.Settings // nil = the defaults
	Interval      time.Duration   // 0 = the policy's own
	Axes          []string        // that it may change, of guard.AxisNames; nil = all
	// Start is what it has given each service before a workload begins, by the workload's name; none
	// = what the application declares.
	Start map[string][]loadline.Allocation
}

// deployed is a run of the policy as it is deployed.
func (p Policy) deployed(s simulate.Spec) simulate.Spec {
	if start := p.Start[s.Workload]; start != nil {
		app := *s.App
		app.Services = slices.Clone(app.Services)
		for i := range app.Services {
			app.Services[i].Replicas, app.Services[i].Size = start[i].Replicas, start[i].Size
		}
		s.App = &app
	}
	s.Guard, s.GuardSettings, s.Interval, s.Axes = p.Guard, p.GuardSettings, p.Interval, p.Axes
	if p.Brownout {
		settings := guard.Defaults()
		if s.GuardSettings != nil {
			settings = *s.GuardSettings
		}
		settings.Brownout.Services = nil
		for i, optional := range s.App.Optional() {
			if optional {
				settings.Brownout.Services = append(settings.Brownout.Services, s.App.Services[i].Name)
			}
		}
		s.GuardSettings = &settings
	}
	return s
}

const (
	calibratedSuffix = "@calibrated"
	onceSuffix       = "@calibrated-once"
	trainedSuffix    = "@trained"
	warmSuffix       = "@warm"
	guardedSuffix    = "@guarded"
	brownoutSuffix   = "@brownout"
)

// guardRule is the fallback rule of a LoadLine that names none.
const guardRule = "hpa"

// ParsePolicy reads "hpa:target=60", "hpa@calibrated", "hpa@calibrated-once", "drpc@trained",
// "planner@warm", "planner@warm@guarded" or "planner@warm@brownout", optionally after a label, a
// colon and a space: "tight: hpa:target=90".
func ParsePolicy(text string) Policy {
	label, spec, named := strings.Cut(text, ": ")
	if !named {
		label, spec = "", text
	}
	p := Policy{Spec: strings.TrimSpace(spec), Label: strings.TrimSpace(label)}
	for cut := true; cut; {
		bare, last := p.Spec, ""
		if at := strings.LastIndexByte(p.Spec, '@'); at >= 0 {
			bare, last = p.Spec[:at], p.Spec[at:]
		}
		switch last {
		case onceSuffix:
			p.Calibrated, p.Once = true, true
		case calibratedSuffix:
			p.Calibrated = true
		case trainedSuffix:
			p.Trained = true
		case warmSuffix:
			p.Warm = true
		case guardedSuffix:
			p.Guard = guardRule
		case brownoutSuffix:
			p.Guard, p.Brownout = guardRule, true
		default:
			bare, cut = p.Spec, false
		}
		p.Spec = bare
	}
	p.Spec = policy.Canonical(p.Spec)
	if p.Label == "" {
		p.Label = p.Spec
		switch {
		case p.Once:
			p.Label += " (calibrated once)"
		case p.Calibrated:
			p.Label += " (calibrated)"
		}
		if p.Trained {
			p.Label += " (trained)"
		}
		if p.Warm {
			p.Label += " (warm)"
		}
		switch {
		case p.Brownout:
			p.Label += " (guarded, brownout)"
		case p.Guard != "":
			p.Label += " (guarded)"
		}
	}
	return p
}

// specs of the policy: one, or those of all plain rules if they are calibrated together.
func (p Policy) specs() []string {
	if p.Calibrated {
		return rulesOf(p.Spec)
	}
	return []string{p.Spec}
}

// needsSearch reports whether the policy is an oracle whose schedule has to be searched.
func (p Policy) needsSearch() bool {
	name, settings, _ := strings.Cut(p.Spec, ":")
	m, err := policy.Named(name)
	return err == nil && m.Oracle && !strings.Contains(","+settings, ",level=")
}

func (m Matrix) withDefaults() Matrix {
	if m.Seeds == 0 {
		m.Seeds = 1
	}
	if m.FirstSeed == 0 {
		m.FirstSeed = 1
	}
	if m.Engine == "" {
		m.Engine = simulate.Engines()[0]
	}
	if m.Neighbours == nil {
		m.Neighbours = NeighbourLevels
	}
	if m.Training.Steps == 0 {
		m.Training.Steps = DefaultTrainingSteps
	}
	if m.Training.Models == 0 {
		m.Training.Models = 3
	}
	m.Training.Models = min(m.Training.Models, max(m.Seeds, 1))
	if m.Baseline == "" && len(m.Policies) > 0 {
		m.Baseline = m.Policies[0].Label
	}
	return m
}

// Cases is the number of rows of the comparison.
func (m Matrix) Cases() int {
	return len(m.scenes()) * len(m.Policies)
}

// Runs is the number of runs of the comparison.
func (m Matrix) Runs() int { return m.Cases() * max(m.Seeds, 1) }

// check reports every fault of the lists themselves; faults of combinations are found when the
// cells are made.
func (m Matrix) check() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for what, n := range map[string]int{"application": len(m.Apps), "workload": len(m.Workloads)} {
		if n == 0 && len(m.Scenes) == 0 {
			add("there is no %s to compare", what)
		}
	}
	if len(m.Policies) == 0 {
		add("there is no policy to compare")
	}
	if m.Seeds < 1 || m.Seeds > 10000 {
		add("%d seeds: must be from 1 to 10000", m.Seeds)
	}
	if last := m.FirstSeed + uint64(max(m.Seeds, 1)); last > validationSeed && m.FirstSeed < validationSeed+validationSeeds {
		add("seeds %d to %d: those from %d on are kept for validation", m.FirstSeed, last-1, uint64(validationSeed))
	}
	if m.trains() {
		if last := m.FirstSeed + uint64(max(m.Seeds, 1)); last > trainingSeed && m.FirstSeed < trainingSeed+trainingSeeds {
			add("seeds %d to %d: those from %d on are kept for training", m.FirstSeed, last-1, uint64(trainingSeed))
		}
		if m.Training.Models < 1 {
			add("%d models of each policy that is trained: must be at least 1", m.Training.Models)
		}
		if m.Training.Steps < policy.LeastSteps {
			add("%d training steps: must be at least %d", m.Training.Steps, policy.LeastSteps)
		}
	}
	var labels, appNames, loads, scenes []string
	for _, s := range m.Scenes {
		scenes = append(scenes, s.Name)
	}
	for _, p := range m.Policies {
		labels = append(labels, p.Label)
	}
	for _, a := range m.Apps {
		appNames = append(appNames, a.Name)
	}
	for _, w := range m.Workloads {
		loads = append(loads, w.Name)
	}
	for what, names := range map[string][]string{"policy": labels, "application": appNames, "workload": loads,
		"perturbation": m.Perturbations, "scene": scenes} {
		if twice := repeated(names); twice != "" {
			add("%s %q is there twice: give one of them another name", what, twice)
		}
	}
	if !slices.Contains(labels, m.Baseline) {
		add("the baseline %q is not among the policies%s", m.Baseline, suggest.Hint(m.Baseline, labels))
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(faults...)
}

func repeated(names []string) string {
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			return n
		}
	}
	return ""
}
