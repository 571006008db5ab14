package sandbox

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/internal/workload"
)

// Settings are what is simulated. The zero value of every field is a usable default.
type Settings struct {
	App   string `json:"app,omitempty"`   // an embedded application
	Model string `json:"model,omitempty"` // or the text of a model file; App is then its name
	// Load is the pattern at the start: one of Patterns, or generators of workload.Parse.
	Load string `json:"load,omitempty"`
	// Rates is a load from a file instead of generators, and Load its name.
	Rates *Rates `json:"rates,omitempty"`
	Rule  string `json:"rule,omitempty"`  // of the first side: name:key=value,...
	Seed  uint64 `json:"seed,omitempty"`  // 0 = 1
	Speed int    `json:"speed,omitempty"` // simulated seconds in a second, for the page
}

// Rates are requests per second in bins of equal length.
type Rates struct {
	StepSeconds float64   `json:"step_s"`
	PerSecond   []float64 `json:"per_second"`
}

// Defaults of Settings.
const (
	DefaultApp   = "boutique"
	DefaultLoad  = "day"
	DefaultRule  = "hpa"
	DefaultSpeed = 60
	MaxSpeed     = 600
	planner      = "planner" // as spec.policy and spec.fallback of a LoadLine are by default
	fallback     = "hpa"
	interval     = 15 * time.Second
)

// usualCores is what the application uses at the usual load: enough for several nodes, and few enough
// requests to follow each of them a hundred times as fast as they come.
const usualCores = 1.5

// mostRequests per second at the usual load, however little each needs.
const mostRequests = 120

// longest is how far a sandbox can be advanced.
const longest = 7 * 24 * time.Hour

// pools are tried in turn until every pod fits: small nodes come and go more often.
var pools = []string{"eks-2", "eks-4", "eks-8", "eks-16"}

// Neighbours use little of what they request, until they wake up.
const (
	asleep    = 0.1
	awake     = 0.85
	requested = 0.2
)

// slowVersion is the factor on the CPU time of a visit.
const slowVersion = 2

// WithDefaults returns the settings with zero fields filled in.
func (s Settings) WithDefaults() Settings {
	if s.App == "" {
		s.App = DefaultApp
	}
	if s.Load == "" {
		s.Load = DefaultLoad
	}
	if s.Rule == "" {
		s.Rule = DefaultRule
	}
	if s.Seed == 0 {
		s.Seed = 1
	}
	if s.Speed == 0 {
		s.Speed = DefaultSpeed
	}
	return s
}

// scene is what the settings describe.
type scene struct {
	settings Settings
	app      *loadline.App
	usual    float64 // requests per second
	patterns []pattern
	first    int // pattern
	busiest  int // service
	cluster  pool.Cluster
}

// Validate reports all faults.
func (s Settings) Validate() error {
	_, err := s.scene()
	return err
}

func (s Settings) scene() (*scene, error) {
	s = s.WithDefaults()
	var faults []error
	if s.Speed < 1 || s.Speed > MaxSpeed {
		faults = append(faults, fmt.Errorf("speed %d: must be from 1 to %d simulated seconds in a second", s.Speed, MaxSpeed))
	}
	model, err := s.model()
	if err != nil {
		return nil, errors.Join(append(faults, err)...)
	}
	sc := &scene{settings: s, app: model}
	if sc.busiest, err = apps.Busiest(sc.app); err != nil {
		return nil, errors.Join(append(faults, err)...)
	}
	sc.usual = usualRate(sc.app)
	if err := sc.setPatterns(); err != nil {
		return nil, errors.Join(append(faults, err)...)
	}
	if err := sc.size(); err != nil {
		faults = append(faults, err)
	}
	if _, err := policy.New(s.Rule, sc.app); err != nil {
		faults = append(faults, fmt.Errorf("rule: %w", err))
	}
	return sc, errors.Join(append(faults, sc.setCluster())...)
}

func (s Settings) model() (*loadline.App, error) {
	if s.Model != "" {
		m, err := apps.Parse(s.App, []byte(s.Model))
		if err != nil {
			return nil, err
		}
		return m.App, nil
	}
	if names := apps.Names(); !slices.Contains(names, s.App) {
		return nil, fmt.Errorf("no application %q: must be one of %s%s", s.App, strings.Join(names, ", "), suggest.Hint(s.App, names))
	}
	m, err := apps.Load(s.App)
	if err != nil {
		return nil, err
	}
	return m.App, nil
}

// usualRate is the requests per second that use usualCores, rounded.
func usualRate(app *loadline.App) float64 {
	seconds := 0.0
	for _, s := range apps.Mix(app, apps.CPUSeconds(app)) {
		seconds += s
	}
	rate := min(usualCores/seconds, mostRequests)
	digit := math.Pow(10, math.Floor(math.Log10(rate)))
	return math.Max(1, math.Round(rate/digit)) * digit
}

// setCluster chooses the nodes.
func (sc *scene) setCluster() error {
	var err error
	for _, name := range pools {
		nodes, _ := pool.Named(name)
		sc.cluster = pool.Cluster{Pools: []pool.Pool{nodes}, Neighbours: pool.Neighbours{Use: asleep, Request: requested}}
		if err = sc.cluster.CheckApp(sc.app); err == nil {
			return nil
		}
	}
	return err
}

// size gives the services the replicas that the load at the start needs, with room for more.
func (sc *scene) size() error {
	most := sc.patterns[sc.first].most
	scaled, err := apps.Scale(sc.app, max(1, math.Ceil(maxFactor*most/sc.usual)))
	if err != nil {
		return err
	}
	name := sc.app.Name
	rates := make([]float64, len(scaled.Kinds))
	for k := range rates {
		rates[k], _ = sc.patterns[sc.first].load.Rate(k, 0)
	}
	sc.app = apps.SizedFor(scaled, rates, 0.4)
	sc.app.Name = name
	return nil
}

// ownLoad is the load of the settings that is none of the patterns.
func (s Settings) ownLoad() (*workload.Workload, error) {
	if s.Rates != nil {
		w := &workload.Workload{
			Name: s.Load, Step: time.Duration(math.Round(s.Rates.StepSeconds * 1e9)), Rates: s.Rates.PerSecond,
		}
		return w, w.Validate()
	}
	return workload.Parse(s.Load, 0, time.Second, s.Seed)
}
