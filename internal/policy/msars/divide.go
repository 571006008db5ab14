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
	Kept       bool    // it can be kept within the bounds, by the profile
	Reason     string  // why it is as long as that

	curve *profile.Curve // in its present size; nil = none
}

// Divider divides the users' SLO among the services, and again when what it depends
// on changes: sizes, profiles, and how many requests of each kind there are. It is for
// one goroutine.
type Divider struct {
	way     string
	app     *loadline.App // with the desired sizes
	library *Library
	factors map[string]float64
	split   *slosplit.Cache
	adapt   *adapting // nil unless the way adapts

	window time.Duration // over which rates are counted
	count  *counter
	needs  []Need
	rates  []float64 // by kind, as of the last division; nil = there was none
	work   []float64 // by service: work of a visit over what its profiles were measured with
	news   []string  // what changed since

	parts     []Part
	why       string
	at        time.Time
	divisions int
}

// Division is how a Divider divides.
type Division struct {
	Way      string
	Net      *learned.Model     // of meta and gcn
	Profiles *profile.Set       // of all but none
	Factors  map[string]float64 // by kind: time that parts may sum to, over the SLO; absent = 1
}

// NewDivider divides for an application whose rates are counted over a window.
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

// hold every service to the tightest SLO of its requests.
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

// Released tells that a visit to a service takes so many times the work that its
// profiles were measured with.
func (d *Divider) Released(service int, work float64) {
	d.observe(fmt.Sprintf("the profile of %s changed, a visit takes %.2f times the work", d.app.Services[service].Name,
		work/d.work[service]))
	d.work[service] = work
	if d.adapt != nil {
		d.adapt.releases[service]++
	}
}

// How far the rate of a kind must move for a new division: by a quarter, and further
// than counts vary at random.
const (
	rateMoves  = 1.25
	rateChange = 3
)

// Update divides anew if something that the parts depend on has changed, and says
// whether it did. Rates that were not measured stay what they were; as long as one is
// not known at all, there is nothing to divide by.
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

// follow takes the rates that have moved, and says which one is not known.
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

// Resize takes the desired sizes.
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

// Redivide at once if a size has changed (lines 10 to 13 of Algorithm 1).
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

// divide all chains. Only those that changed are computed: the others are remembered.
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
			p.curve, _ = d.profile(i, s.Percentile).Curve() // it was of use to the chains
		}
		d.parts[i] = p
	}
	d.why, d.at = d.reasons(), now
	d.news = d.news[:0]
	d.divisions++
	return nil
}

// unsized is what keeps a profile from being had at the desired sizes. In a
// cluster a workload may have lost the CPU limit that it was measured with.
func (d *Divider) unsized() error {
	for _, n := range d.needs {
		if err := d.library.missing(n, d.app.Services[n.Service].Size); err != nil {
			return fmt.Errorf("%w: %w: set the limits of its workload as they were where the model was trained, or train one for this",
				loadline.ErrNoData, err)
		}
	}
	return nil
}

// profile of a service as it is now.
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

// maxReasons is how many reasons of a split are printed, newsMost how many are kept
// while none can be made.
const (
	maxReasons = 2
	newsMost   = 100
)

// observe of something that the parts depend on.
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

// Why it was divided last, and when.
func (d *Divider) Why() (string, time.Time) { return d.why, d.at }

// Divisions that were made, and chains that were computed in them.
func (d *Divider) Divisions() (divisions, chains int) {
	if d.split == nil {
		return 0, 0
	}
	return d.divisions, d.split.Computed()
}
