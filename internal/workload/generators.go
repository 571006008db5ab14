package workload

import (
	"math"
	"math/rand/v2"
	"time"
)

// role is how a generator contributes to a sum.
type role int

const (
	level  role = iota // requests per second, added
	factor             // multiplies the sum of the levels
	mixing             // the shares of kinds
)

// generator is one shape of load over time.
type generator struct {
	name, help string
	role       role
	keys       []key
	build      func(during) signal
}

type key struct {
	name  string
	kind  keyKind
	value string // default
	help  string
}

// during has the arguments of a generator.
type during struct {
	settings
	duration time.Duration
	rng      *rand.Rand
}

// signal is the mean over a bin. Bins are requested in order, once each.
type signal func(from, to time.Duration) float64

var generators = []generator{
	{
		name: "constant", help: "the same rate throughout",
		keys: []key{{"rps", aRate, "100", "requests per second"}},
		build: func(d during) signal {
			return func(_, _ time.Duration) float64 { return d.settings["rps"] }
		},
	},
	{
		name: "step", help: "one rate, then another",
		keys: []key{
			{"from", aRate, "100", "requests per second before"},
			{"to", aRate, "200", "requests per second after"},
			{"at", anInstant, "10m", "when it changes"},
		},
		build: func(d during) signal {
			at := d.settings.duration("at")
			return overPieces(func(t time.Duration) float64 {
				if t < at {
					return d.settings["from"]
				}
				return d.settings["to"]
			}, at)
		},
	},
	{
		name: "ramp", help: "from one rate to another in a straight line",
		keys: []key{
			{"from", aRate, "50", "requests per second at the beginning"},
			{"to", aRate, "200", "requests per second at the end"},
			{"start", anInstant, "0s", "when it begins to change"},
			{"end", anInstant, "0s", "when it ends; 0s = with the workload"},
		},
		build: func(d during) signal {
			start, end := d.settings.duration("start"), d.settings.duration("end")
			if end == 0 {
				end = d.duration
			}
			end = max(end, start)
			return overPieces(func(t time.Duration) float64 {
				return d.settings["from"] + progress(t, start, end)*(d.settings["to"]-d.settings["from"])
			}, start, end)
		},
	},
	{
		name: "diurnal", help: "a wave from low to high and back",
		keys: []key{
			{"low", aRate, "50", "requests per second at the lowest"},
			{"high", aRate, "200", "requests per second at the highest"},
			{"period", aDuration, "24h", "from one peak to the next"},
			{"peak", anInstant, "14h", "when it is highest first"},
		},
		build: func(d during) signal {
			return wave(d.settings["low"], d.settings["high"], d.settings.duration("period"), d.settings.duration("peak"))
		},
	},
	{
		name: "weekly", help: "days as diurnal, Monday first, with quieter weekends",
		keys: []key{
			{"low", aRate, "50", "requests per second at night"},
			{"high", aRate, "200", "requests per second at midday"},
			{"peak", anInstant, "14h", "when a day is highest"},
			{"weekend", aFactor, "0.6", "factor on Saturday and Sunday"},
		},
		build: weekly,
	},
	{
		name: "bursty", help: "a quiet and a busy rate in turn, for random times (two-state Markov-modulated)",
		keys: []key{
			{"low", aRate, "50", "requests per second when quiet"},
			{"high", aRate, "400", "requests per second when busy"},
			{"calm", aDuration, "10m", "mean time quiet"},
			{"burst", aDuration, "1m", "mean time busy"},
		},
		build: bursty,
	},
	{
		name: "flash", help: "a crowd that comes once: multiplies the load for a while", role: factor,
		keys: []key{
			{"at", anInstant, "1h", "when it begins"},
			{"spread", anInstant, "0s", "it begins up to this much later, drawn at random"},
			{"factor", aFactor, "5", "on the load, at its height"},
			{"rise", anInstant, "1m", "until its height"},
			{"hold", anInstant, "10m", "at its height"},
			{"fall", anInstant, "5m", "until it is gone"},
		},
		build: flash,
	},
	{
		name: "noise", help: "a random factor of mean 1 (lognormal, correlated in time)", role: factor,
		keys: []key{
			{"cv", aFactor, "0.1", "standard deviation over mean"},
			{"corr", anInstant, "1m", "time over which it forgets; 0s = at once"},
		},
		build: func(d during) signal {
			next := lognormalWalk(d.settings["cv"], d.settings.duration("corr"), d.rng)
			return func(from, to time.Duration) float64 { return next(to - from) }
		},
	},
	{
		name: "mix", help: "shares of the kinds of requests: mix:query=70..30,buy=30..70 drifts from the first to the second",
		role: mixing,
		keys: []key{
			{"period", anInstant, "0s", "drift there and back in this time; 0s = there, over the whole workload"},
			{"drift", aFactor, "0", "random drift: standard deviation over mean of each share"},
			{"corr", anInstant, "1h", "time over which the random drift forgets"},
		},
	},
}

func generatorNamed(name string) *generator {
	for i := range generators {
		if generators[i].name == name {
			return &generators[i]
		}
	}
	return nil
}

func generatorNames() []string {
	var names []string
	for _, g := range generators {
		names = append(names, g.name)
	}
	return names
}

func levelNames() []string {
	var names []string
	for _, g := range generators {
		if g.role == level {
			names = append(names, g.name)
		}
	}
	return names
}

func (g *generator) keyNames() []string {
	var names []string
	for _, k := range g.keys {
		names = append(names, k.name)
	}
	return names
}

func (g *generator) keyHelp() []string {
	var lines []string
	for _, k := range g.keys {
		lines = append(lines, k.name+"="+k.value+"  "+k.help)
	}
	return lines
}

func (g *generator) defaults() settings {
	s := settings{}
	for _, k := range g.keys {
		s[k.name], _ = k.kind.parse(k.value)
	}
	return s
}

// progress is the position of t between start and end, 0 to 1.
func progress(t, start, end time.Duration) float64 {
	switch {
	case t <= start && t < end:
		return 0
	case t >= end:
		return 1
	}
	return float64(t-start) / float64(end-start)
}

// overPieces makes the exact mean of a function that is linear between the given instants, in
// ascending order.
func overPieces(f func(time.Duration) float64, breaks ...time.Duration) signal {
	return func(from, to time.Duration) float64 {
		sum, begin := 0.0, from
		for _, b := range append(breaks[:len(breaks):len(breaks)], to) {
			end := min(max(b, begin), to)
			if end > begin {
				sum += f(begin+(end-begin)/2) * float64(end-begin)
			}
			begin = end
		}
		return sum / float64(to-from)
	}
}

// wave is the exact mean of a cosine between low and high over a bin.
func wave(low, high float64, period, peak time.Duration) signal {
	perTurn := float64(period) / (2 * math.Pi)
	return func(from, to time.Duration) float64 {
		a, b := float64(from-peak)/perTurn, float64(to-peak)/perTurn
		height := (math.Sin(b) - math.Sin(a)) / (b - a)
		return max(0, low+(high-low)*(1+height)/2)
	}
}

func weekly(d during) signal {
	const day = 24 * time.Hour
	daily := wave(d.settings["low"], d.settings["high"], day, d.settings.duration("peak"))
	return func(from, to time.Duration) float64 {
		sum := 0.0
		for begin := from; begin < to; {
			end := min(to, (begin/day+1)*day)
			part := daily(begin, end) * float64(end-begin)
			if begin/day%7 >= 5 {
				part *= d.settings["weekend"]
			}
			sum += part
			begin = end
		}
		return sum / float64(to-from)
	}
}

// bursty is a two-state Markov-modulated rate. The initial state is drawn from the stationary
// distribution, so that the mean is (low*calm + high*burst) / (calm + burst) from the first bin
// on.
func bursty(d during) signal {
	rates := [2]float64{d.settings["low"], d.settings["high"]}
	stay := [2]float64{d.settings["calm"], d.settings["burst"]}
	state := 0
	if d.rng.Float64()*(stay[0]+stay[1]) < stay[1] {
		state = 1
	}
	until := d.rng.ExpFloat64() * stay[state]
	return func(from, to time.Duration) float64 {
		now, end, sum := from.Seconds(), to.Seconds(), 0.0
		length := end - now
		if length > 1000*(stay[0]+stay[1]) {
			// With that many transitions within one bin only their mean matters.
			return (rates[0]*stay[0] + rates[1]*stay[1]) / (stay[0] + stay[1])
		}
		for until < end {
			sum += rates[state] * max(0, until-now)
			now = max(now, until)
			state = 1 - state
			until += d.rng.ExpFloat64() * stay[state]
		}
		return (sum + rates[state]*(end-now)) / length
	}
}

func flash(d during) signal {
	at := d.settings.duration("at")
	if spread := d.settings.duration("spread"); spread > 0 {
		at += time.Duration(d.rng.Float64() * float64(spread))
	}
	high := at + d.settings.duration("rise")
	sink := high + d.settings.duration("hold")
	gone := sink + d.settings.duration("fall")
	return overPieces(func(t time.Duration) float64 {
		up := 0.0
		switch {
		case t < at || t >= gone:
		case t < high:
			up = progress(t, at, high)
		case t < sink:
			up = 1
		default:
			up = 1 - progress(t, sink, gone)
		}
		return 1 + up*(d.settings["factor"]-1)
	}, at, high, sink, gone)
}

// lognormalWalk is a random factor of mean 1 and the given coefficient of variation whose
// logarithm is a first-order autoregression with time constant corr. The first value is drawn
// from the stationary distribution.
func lognormalWalk(cv float64, corr time.Duration, rng *rand.Rand) func(step time.Duration) float64 {
	variance := math.Log(1 + cv*cv)
	x, begun := 0.0, false
	return func(step time.Duration) float64 {
		keep := 0.0
		if begun && corr > 0 {
			keep = math.Exp(-float64(step) / float64(corr))
		}
		begun = true
		x = keep*x + math.Sqrt((1-keep*keep)*variance)*rng.NormFloat64()
		return math.Exp(x - variance/2)
	}
}
