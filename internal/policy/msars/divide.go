package msars

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/slosplit"
	"github.com/loadline/loadline/internal/slosplit/learned"
)

// Part is one service's part of the users' SLO.
type Part struct {
	Percentile float64
	Own        float64 // seconds that a visit may take without its calls; 0 = no SLO, or no split
	WithCalls  float64 // seconds that it may take with them; 0 = no SLO
	Whole      float64 // seconds of the SLO that it is a part of
	Kept       bool    // it can be met within the bounds, by the profile
	Reason     string  // why it has this length

	curve *profile.Curve // in its current size; nil = none
}

// Divider divides the users' SLO among the services, and again when its inputs change: sizes,
// profiles, and the request rates of the kinds. It is for one goroutine.
type Divider struct {
	way     string
	app     *loadline.App // with the desired sizes
	library *Library
	factors map[string]float64
	split   *slosplit.Cache
	adapt   *adapting // nil unless the splitter adapts

	window time.Duration // over which rates are counted
	count  *counter
	needs  []Need
	rates  []float64 // by kind, as of the last division; nil = none yet
	work   []float64 // by service: work of a visit relative to its profiles
	news   []string  // changes since

	parts     []Part
	why       string
	at        time.Time
	divisions int
}

// Division is how a Divider divides.
type Division struct {
	Way      string
	Net      *learned.Model     // for meta and gcn
	Profiles *profile.Set       // for all but none
	Factors  map[string]float64 // by kind: ratio of the sum of parts to the SLO; absent = 1
}

// NewDivider makes the divider of an application whose rates are counted over a window.
func NewDivider(app *loadline.App, of Division, window time.Duration) (*Divider, error) {
	own := *app
	own.Services = slices.Clone(app.Services)
	d := &Divider{way: of.Way, app: &own, factors: of.Factors, window: window, work: make([]float64, len(app.Services)),
		parts: make([]Part, len(app.Services))}
	if err := CheckWay(of.Way); err != nil {
		return nil, err
	}
	if of.Way == None {
		d.hold()
		return d, nil
	}
	if of.Profiles == nil {
		return nil, fmt.Errorf("way %s needs profiles, and there are none: measure them with loadline profile", of.Way)
	}
	var err error
	if d.library, err = NewLibrary(app, of.Profiles); err != nil {
		return nil, err
	}
	splitter, err := newSplitter(of.Way, of.Net)
	if err != nil {
		return nil, err
	}
	if d.adapt, _ = splitter.(*adapting); d.adapt != nil {
		d.adapt.releases = make([]int, len(app.Services))
	}
	d.split = slosplit.NewCache(lenient{splitter})
	d.count, d.needs = newCounter(d.app), Needed(d.app)
	d.Forget()
	return d, nil
}

// hold gives every service the tightest SLO of its requests.
func (d *Divider) hold() {
	for _, n := range Needed(d.app) {
		for k := range d.app.Kinds {
			kind, p := &d.app.Kinds[k], &d.parts[n.Service]
			slo := kind.SLO.Latency.Seconds()
			if slo > 0 && visits(&kind.Root, n.Service) && (p.Whole == 0 || slo < p.Whole) {
				*p = Part{Percentile: kind.SLO.Percentile, WithCalls: slo, Whole: slo, Kept: true, Reason: "all of " + kind.Name}
			}
		}
	}
	d.why = "nothing is split"
}

func visits(c *loadline.Call, service int) bool {
	if c.Service == service {
		return true
	}
	for _, stage := range c.Stages {
		for i := range stage {
			if visits(&stage[i], service) {
				return true
			}
		}
	}
	return false
}

// Forget discards loads and releases, as at the start of an episode.
func (d *Divider) Forget() {
	d.rates, d.news = nil, nil
	if d.count != nil {
		d.count.forget()
	}
	for i := range d.work {
		d.work[i] = 1
	}
}

// Released sets the work of a visit to a service relative to what its profiles were measured
// with.
func (d *Divider) Released(service int, work float64) {
	d.observe(fmt.Sprintf("the profile of %s changed, a visit takes %.2f times the work", d.app.Services[service].Name,
		work/d.work[service]))
	d.work[service] = work
	if d.adapt != nil {
		d.adapt.releases[service]++
	}
}

// How far the rate of a kind must move for a new division: by a quarter, and more than random
// variation of counts.
const (
	rateMoves  = 1.25
	rateChange = 3
)

// Update divides again if an input has changed, and reports whether it did. Rates that were not
// measured keep their values; while one is completely unknown, there is no division.
func (d *Divider) Update(now time.Time, o *loadline.Observation, desired []loadline.Allocation) (anew bool, err error) {
	if d.way == None {
		return false, nil
	}
	if unknown := d.follow(o); unknown != "" {
		return false, fmt.Errorf("%w: %s", loadline.ErrNoData, unknown)
	}
	d.Resize(desired)
	if len(d.news) == 0 {
		return false, nil
	}
	return true, d.divide(now)
}

// follow updates the rates that have moved, and returns the kind whose rate is unknown.
func (d *Divider) follow(o *loadline.Observation) (unknown string) {
	d.count.take(o)
	first := d.rates == nil
	if first {
		if unknown := d.count.unknown(); unknown != "" {
			return unknown
		}
		d.rates = make([]float64, len(o.Kinds))
		d.observe("it is the first" + d.count.guessed())
	}
	for k, rate := range d.count.now {
		if !rate.Present() {
			continue
		}
		was := d.rates[k]
		high, low := max(was, rate.Value), min(was, rate.Value)
		if first || high > rateMoves*low && high-low > rateChange*math.Sqrt(high/d.window.Seconds()) {
			d.rates[k] = rate.Value
			if !first {
				d.observe(fmt.Sprintf("%s went from %.3g to %.3g requests/s", d.app.Kinds[k].Name, was, rate.Value))
			}
		}
	}
	return ""
}

// Resize sets the desired sizes.
func (d *Divider) Resize(desired []loadline.Allocation) {
	for i := range desired {
		size := &d.app.Services[i].Size
		if *size == desired[i].Size {
			continue
		}
		if d.parts[i].Whole > 0 && size.CPULimit != desired[i].Size.CPULimit {
			d.observe(fmt.Sprintf("%s was resized from %.3g to %.3g cores", d.app.Services[i].Name, size.CPULimit,
				desired[i].Size.CPULimit))
		}
		*size = desired[i].Size
	}
}

// Redivide divides at once if a size has changed (lines 10 to 13 of Algorithm 1).
func (d *Divider) Redivide(now time.Time, desired []loadline.Allocation) (anew bool, err error) {
	if d.way == None || d.rates == nil {
		return false, nil
	}
	d.Resize(desired)
	if len(d.news) == 0 {
		return false, nil
	}
	return true, d.divide(now)
}

// divide divides all chains. Only changed ones are computed: the others are cached.
func (d *Divider) divide(now time.Time) error {
	if err := d.unsized(); err != nil {
		return err
	}
	chains, err := slosplit.Cut(d.app, d.rates, d.profile)
	if err != nil {
		return fmt.Errorf("msars: %w", err)
	}
	whole := make(map[string]float64, len(d.app.Kinds))
	for i := range chains {
		whole[chains[i].Kind] = chains[i].Budget
		if f := d.factors[chains[i].Kind]; f > 0 {
			chains[i].Budget *= f
		}
	}
	plan, err := slosplit.NewPlan(d.app, chains, d.split)
	if err != nil {
		return fmt.Errorf("msars: %w", err)
	}
	for i := range plan.Services {
		s := &plan.Services[i]
		p := Part{Percentile: s.Percentile, Own: s.Share, WithCalls: s.WithCalls, Whole: whole[s.Kind], Kept: s.Kept, Reason: s.Reason}
		if s.Share > 0 {
			p.curve, _ = d.profile(i, s.Percentile).Curve() // usable, since the chains used it
		}
		d.parts[i] = p
	}
	d.why, d.at = d.reasons(), now
	d.news = d.news[:0]
	d.divisions++
	return nil
}

// unsized reports why there is no profile at the desired sizes. In a cluster a workload may
// have lost the CPU limit that it was measured with.
func (d *Divider) unsized() error {
	for _, n := range d.needs {
		if err := d.library.missing(n, d.app.Services[n.Service].Size); err != nil {
			return fmt.Errorf("%w: %w: set the limits of its workload as they were where the model was trained, or train one for this",
				loadline.ErrNoData, err)
		}
	}
	return nil
}

// profile of a service in its current state.
func (d *Divider) profile(service int, percentile float64) *profile.Profile {
	return d.profileAt(service, d.app.Services[service].Size, percentile)
}

// profileAt is the same for another size.
func (d *Divider) profileAt(service int, size loadline.Size, percentile float64) *profile.Profile {
	p := d.library.Profile(service, size, percentile)
	if p == nil || d.work[service] == 1 {
		return p
	}
	return p.Stretch(d.work[service], 0)
}

// maxReasons is how many reasons of a split are printed, newsMost how many are kept while no
// split is possible.
const (
	maxReasons = 2
	newsMost   = 100
)

// observe records a change of an input.
func (d *Divider) observe(what string) {
	if len(d.news) < newsMost {
		d.news = append(d.news, what)
	}
}

func (d *Divider) reasons() string {
	if n := len(d.news); n > maxReasons {
		return fmt.Sprintf("%s and %d more", strings.Join(d.news[:maxReasons], ", "), n-maxReasons)
	}
	return strings.Join(d.news, ", ")
}

// Parts by service, until the next division; not a copy.
func (d *Divider) Parts() []Part { return d.parts }

// Why returns the reason and time of the last division.
func (d *Divider) Why() (string, time.Time) { return d.why, d.at }

// Divisions returns the number of divisions and of chains computed in them.
func (d *Divider) Divisions() (divisions, chains int) {
	if d.split == nil {
		return 0, 0
	}
	return d.divisions, d.split.Computed()
}
