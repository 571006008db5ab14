package fluid

import (
	"math"

	"github.com/loadline/loadline/internal/sim/pool"
)

// chance is contention on a node that has enough cores on average: those on it want more than
// there is now and then, and visits are delayed.
//
// A node of C cores is a queue with C/size servers, where size is the variance of the cores
// wanted over their mean: 1 for requests with a core each at random times, less where limits
// make the demand smoother. The mean number of pieces of work that wait at a load x is
//
//	waiting(x) = P(x) * x/(1-x),  P(x) = x^(sqrt(2(C/size+1))-1)
//
// (Sakasegawa's approximation). Weights divide it: where one has priority over another with a
// probability of its share of their weights (a random order of priorities, drawn by weights),
// the sum over all is kept, as the conservation law of work-conserving queues asks for; two of
// equal weight share as processor sharing would, and one of tiny weight gets what is left. One
// with the load a below a load of x in that order waits for waiting(x+a) - waiting(x).
type chance struct {
	stale bool
	wants float64 // for which it was computed

	load   [weightBins]float64 // cores wanted, by weight
	square [weightBins]float64 // sum of squares over those who want them
	from   int                 // bins in use
	to     int

	cores, servers, exponent float64
	busy                     float64 // weight of those at work when all cores are in use
	residual                 float64 // seconds: mean length of a piece of work, by load
}

// outdated reports whether what is wanted has moved.
func (ch *chance) outdated(wants float64) bool {
	return ch.stale || math.Abs(wants-ch.wants) > 0.02*ch.wants
}

// Weights are sorted into bins, two for each doubling from the least weight.
const (
	weightBins  = 36
	weightShift = 51
)

var weightBase = int(math.Float64bits(leastWeight) >> weightShift)

func weightBin(w float64) int {
	return min(max(int(math.Float64bits(w)>>weightShift)-weightBase, 0), weightBins-1)
}

// The order of priorities is drawn by exponential times, the shortest first, with the weights
// as rates. lots are quantiles of one's own time; before[q][d] is the probability that another,
// d bins heavier, is earlier.
const lots = 4

// strict is the power of weights in the drawing. A share of a saturated node by weight is
// closer to the lower priority than the odds by weight are. Measured against the event engine.
const strict = 2

var before = drawOrders()

func drawOrders() (out [lots][2*weightBins + 1]float64) {
	for q := range out {
		own := (float64(q) + 0.5) / lots
		for d := range out[q] {
			out[q][d] = 1 - math.Pow(own, math.Exp2(strict*float64(d-weightBins)/2))
		}
	}
	return out
}

func (ch *chance) add(weight, want, each float64) {
	b := weightBin(weight)
	ch.load[b] += want
	ch.square[b] += want * each
	ch.from, ch.to = min(ch.from, b), max(ch.to, b)
}

// drawLots computes the delays of the visits to a node's pods.
func (e *Engine) drawLots(n int) {
	m, node := &e.nodes[n], &e.cp.Nodes()[n]
	ch := &m.chance
	*ch = chance{wants: m.wants, from: weightBins, cores: node.Cores}
	mean, vari, rest := 0.0, 0.0, 0.0
	if want := node.Others.Want; want > 0 {
		like := &e.cfg.Cluster.Neighbours
		pods := max(1, math.Round(like.PodsPerCore*node.Cores))
		each := max(node.Others.Request.Cores/pods, leastWeight)
		ch.add(each, want, want/pods)
		mean = want
		if like.Burst > 0 { // not steady
			vari, rest = want, want*like.Burst.Seconds()
		}
	}
	if m.starting > 0 {
		ch.add(m.startWeight, m.starting, m.starting)
		mean += m.starting
	}
	for _, slot := range m.slots {
		p := &e.pods[slot]
		s := &e.services[p.service]
		c := &s.cohorts[p.cohort]
		size := 1.0
		if !c.quota {
			size = min(1, c.ownLimit)
		}
		ch.add(p.weight, p.want, p.want)
		mean += p.want
		vari += (p.want - s.idle) * size
		rest += (p.want - s.idle) * s.work.cpu / size
	}
	if vari <= 0 || mean <= 0 {
		return
	}
	ch.servers = ch.cores * mean / vari
	ch.exponent = math.Sqrt(2*(ch.servers+1)) - 1
	ch.residual = rest / mean
	calm := ch.odds(mean) < 1e-4
	if !calm {
		e.weighBusy(m, node.Others, mean)
	}
	for _, slot := range m.slots {
		p := &e.pods[slot]
		p.stretch, p.delay, p.risk = 0, 0, 0
		if s := &e.services[p.service]; !calm && p.want > s.idle {
			ch.delay(p, s.work.cpu, mean)
		}
	}
}

// weighBusy adds up the weights of those that are at work when all cores are in use: each in
// proportion to its load, and no pod more than once.
func (e *Engine) weighBusy(m *machine, others pool.Others, mean float64) {
	ch := &m.chance
	x := min(mean/ch.cores, steadyLoad)
	perCore := (ch.servers + x/(1-x)) / mean
	ch.busy = m.startWeight
	if others.Want > 0 {
		pods := max(1, math.Round(e.cfg.Cluster.Neighbours.PodsPerCore*ch.cores))
		ch.busy += max(others.Request.Cores/pods, leastWeight) * min(pods, others.Want*perCore)
	}
	for _, slot := range m.slots {
		p := &e.pods[slot]
		p.busy = p.weight * min(1, p.want*perCore)
		ch.busy += p.busy
	}
}

// odds is the probability that all cores are in use at a load in cores.
func (ch *chance) odds(load float64) float64 {
	return math.Pow(min(load/ch.cores, steadyLoad), ch.exponent)
}

// waiting is the mean number of pieces of work that wait, and the probability of a wait.
func (ch *chance) waiting(load float64) (number, odds float64) {
	odds = ch.odds(load)
	x := min(load/ch.cores, steadyLoad)
	return odds * x / (1 - x), odds
}

// delay sets the delay of visits to a pod, all on the node wanting mean cores.
func (ch *chance) delay(p *pod, cpu, mean float64) {
	own := p.want
	rest := mean - own
	alone, _ := ch.waiting(own)
	under := func(x float64) (excess, odds float64) {
		with, odds := ch.waiting(x + own)
		without, _ := ch.waiting(x)
		return (with - without - alone), odds
	}
	none, noneOdds := under(0)
	all, allOdds := under(rest)
	bin := weightBin(p.weight)
	excess, risk, above := 0.0, 0.0, 0.0
	for q := range before {
		x, vari := 0.0, 0.0
		row := &before[q]
		for b := ch.from; b <= ch.to; b++ {
			load, square := ch.load[b], ch.square[b]
			if b == bin {
				load, square = load-own, square-own*own
			}
			o := row[b-bin+weightBins]
			x += o * load
			vari += o * (1 - o) * square
		}
		x = min(max(x, 0), rest)
		// Between a few large ones, each above or below, and many small ones.
		few := 0.0
		if spread := x * (rest - x); spread > 0 {
			few = min(max(vari/spread, 0), 1)
		}
		some, someOdds := under(x)
		share := x / max(rest, 1e-12)
		excess += (few*(share*all+(1-share)*none) + (1-few)*some) / lots
		risk += (few*(share*allOdds+(1-share)*noneOdds) + (1-few)*someOdds) / lots
		above += x / lots
	}
	excess = max(excess, 0) * ch.cores / ch.servers / own
	// While all cores are in use, a visit has at least its pod's part by weight.
	bound := math.Inf(1)
	if least := ch.cores * p.weight / (p.weight + ch.busy - p.busy); own < least {
		bound = atLeast * ch.odds(mean) * cpu * (1/min(1, least)/(1-own/least) - 1)
	}
	p.stretch, p.delay, p.risk = ch.split(excess, bound, cpu, above/max(rest, 1e-12), above/ch.cores, own/ch.cores)
	p.risk *= risk
}

// atLeast is for visits that were there when the cores were used up, and for requests that meet
// the same full node with several visits. Measured against the event engine.
const atLeast = 1.3

// split turns the delay of visits, over the mean work and at most the bound in seconds, into a part that is in proportion to a
// visit's own work and a random one.
func (ch *chance) split(excess, bound, cpu, low, x, a float64) (stretch, delay, share float64) {
	// Those of equal weight are delayed in proportion to their work, as under processor sharing.
	// Those with less are delayed by the work before them at their arrival, whatever their own,
	// and by what comes while they are there.
	inside := max(x*(1-x-a), 0) / max(2*x+a-x*x-x*a, 1e-9)
	inside = 1 - min(max(2*low-1, 0), 1)*(1-inside)
	mean := min(excess*(inside*cpu+(1-inside)*ch.residual), bound)
	// Long visits meet many delays, whose sum varies little.
	many := cpu * cpu / (cpu*cpu + 4*ch.residual*ch.residual)
	return mean * many / cpu, mean * (1 - many), clustered
}

// clustered is how much rarer and longer delays are than if each piece of work that finds all
// cores in use waited for an exponential time. Measured against the event engine.
const clustered = 0.65
