package policy

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// tower chooses the throttle targets of two groups of services. It is a contextual bandit: the
// context is the load, the cost is the allocation, or, higher, the violation of the SLO.
type tower struct {
	cfg    towerConfig
	rng    *rand.Rand
	busy   []bool // by service: in the group with higher CPU usage; nil = not known yet
	now    action
	chosen bool // now was chosen by the tower, and its result is pending

	samples []TowerSample
	began   time.Time
	minute  minute
}

type towerConfig struct {
	start   action
	learns  bool // false = constant targets
	explore float64
	bin     float64 // requests per second
	warmUp  time.Duration
}

// action is a target for each group, as indices.
type action struct{ busy, quiet int }

// TowerSample is the result of one minute under one action. The samples are the tower's whole
// state: they are saved and restored at a restart.
type TowerSample struct {
	RPS         float64
	Busy, Quiet float64 // throttle targets
	Met         bool    // the SLO
	Allocation  float64 // cores
	OverSLO     float64 // latency at the SLO's percentile over that of the SLO, worst kind
}

func newTower(cfg towerConfig, rng *rand.Rand, services int) *tower {
	return &tower{cfg: cfg, rng: rng, now: cfg.start, minute: newMinute(services)}
}

// Samples are what the tower has learned from so far.
func (p *Autothrottle) Samples() []TowerSample { return slices.Clone(p.tower.samples) }

// Learn gives the tower samples of an earlier run.
func (p *Autothrottle) Learn(samples []TowerSample) { p.tower.remember(samples...) }

// target of a service.
func (t *tower) target(service int) float64 {
	if t.busy != nil && t.busy[service] {
		return throttleTargets[t.now.busy]
	}
	return throttleTargets[t.now.quiet]
}

// watch adds a second to the minute, and chooses at its end. It reports whether the targets may
// have changed.
func (t *tower) watch(now time.Time, s loadline.Situation) bool {
	if t.began.IsZero() {
		t.began, t.minute.since = now, now
	}
	t.minute.add(s)
	if now.Sub(t.minute.since) < time.Minute {
		return false
	}
	sample, ok := t.minute.close(now, s.App)
	if now.Sub(t.began) < t.cfg.warmUp {
		return false // captains are still reducing their limits
	}
	if t.busy == nil {
		t.busy = split(t.minute.meanUse())
	}
	if !t.cfg.learns {
		return true
	}
	if !ok {
		t.chosen = false // its result was not measured
		return true
	}
	if t.chosen {
		sample.Busy, sample.Quiet = throttleTargets[t.now.busy], throttleTargets[t.now.quiet]
		t.remember(sample)
	}
	t.now = t.wander(t.best(sample.RPS))
	t.chosen = true
	return true
}

// towerMemory is the number of samples kept: a day's. Older ones may be of an earlier version.
const towerMemory = 24 * 60

func (t *tower) remember(samples ...TowerSample) {
	t.samples = append(t.samples, samples...)
	t.samples = slices.Delete(t.samples, 0, max(0, len(t.samples)-towerMemory))
}

// wander sometimes tries a neighbour: never two steps at once.
func (t *tower) wander(best action) action {
	if t.rng.Float64() >= t.cfg.explore {
		return best
	}
	neighbours := make([]action, 0, 4)
	for _, step := range []action{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
		if n := (action{best.busy + step.busy, best.quiet + step.quiet}); n.onLadder() {
			neighbours = append(neighbours, n)
		}
	}
	return neighbours[t.rng.IntN(len(neighbours))]
}

func (a action) onLadder() bool {
	return a.busy >= 0 && a.busy < len(throttleTargets) && a.quiet >= 0 && a.quiet < len(throttleTargets)
}

// split marks the group with the larger values: of all ways to divide a sorted list in two, the
// one with the least squares within (exact k-means for two).
func split(use []float64) []bool {
	order := make([]int, len(use))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case use[a] < use[b]:
			return -1
		case use[a] > use[b]:
			return 1
		}
		return 0
	})
	squares := func(part []int) float64 {
		sum, sq := 0.0, 0.0
		for _, i := range part {
			sum += use[i]
			sq += use[i] * use[i]
		}
		return sq - sum*sum/float64(len(part))
	}
	cut, least := 0, -1.0
	for c := 1; c < len(order); c++ {
		if within := squares(order[:c]) + squares(order[c:]); least < 0 || within < least {
			cut, least = c, within
		}
	}
	busy := make([]bool, len(use))
	for _, i := range order[cut:] {
		busy[i] = true
	}
	return busy
}
