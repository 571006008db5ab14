package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

const exampleSpec = "diurnal:low=50,high=400+noise:cv=0.1+flash:at=13h,factor=5"

// Parse makes a workload from a specification in text:
//
//	diurnal:low=50,high=400,period=24h+noise:cv=0.1+flash:at=13h,factor=5,rise=1m,hold=10m
//
// Generators are joined by +. Levels (constant, diurnal, ...) add up; factors (noise, flash)
// multiply the sum; mix divides the requests among kinds and moves the shares. Each has keys
// with defaults. The name of a built-in workload is replaced by its specification and may be
// joined too. A duration of 0 is a day or the built-in's own; a step of 0 is a second. The same
// text, duration, step and seed give the same bytes, and a part's randomness does not depend on
// the parts after it.
func Parse(spec string, duration, step time.Duration, seed uint64) (*Workload, error) {
	faults := newFaults("workload")
	text, own := expand(spec)
	if duration == 0 {
		duration = own
	}
	if step == 0 {
		step = time.Second
	}
	if duration < 0 || step < 0 || step > duration || duration/max(step, 1) > maxBins {
		faults.add(0, "duration", duration.String(), fmt.Sprintf("must be from one step (%v) to %d of them", step, maxBins))
		return nil, faults.err()
	}
	parts := parseParts(text, faults)
	if err := faults.err(); err != nil {
		return nil, err
	}
	w := generate(parts, duration, step, seed)
	w.Name = spec
	return w, w.Validate()
}

// expand replaces the names of built-in workloads by their specifications. The duration is the
// longest of theirs, or a day.
func expand(spec string) (text string, duration time.Duration) {
	pieces := splitParts(spec)
	for i, piece := range pieces {
		for _, b := range builtins {
			if strings.TrimSpace(piece) == b.name {
				pieces[i] = b.spec
				duration = max(duration, b.duration)
			}
		}
	}
	if duration == 0 {
		duration = 24 * time.Hour
	}
	return strings.Join(pieces, "+"), duration
}

// part is one generator with its settings.
type part struct {
	generator *generator
	settings  settings
	shares    []kindShare // of mix
}

// settings are the values of all of a generator's keys. Durations are in seconds.
type settings map[string]float64

func (s settings) duration(key string) time.Duration {
	return time.Duration(s[key] * float64(time.Second))
}

func parseParts(text string, faults *Faults) []part {
	var parts []part
	levels, mixes := 0, 0
	for _, piece := range splitParts(text) {
		name, rest, _ := strings.Cut(piece, ":")
		name = strings.TrimSpace(name)
		g := generatorNamed(name)
		if g == nil {
			if at := slices.IndexFunc(builtins, func(b builtin) bool { return b.name == name }); at >= 0 {
				faults.add(0, "generator", name, "must have no settings; write what it stands for instead: "+builtins[at].spec)
				continue
			}
			known := append(generatorNames(), builtinNames()...)
			faults.add(0, "generator", name, "must be a file, or one of "+strings.Join(known, ", ")+didYouMean(name, known))
			continue
		}
		p := part{generator: g, settings: g.defaults()}
		p.parseKeys(rest, faults)
		parts = append(parts, p)
		switch g.role {
		case level:
			levels++
		case mixing:
			mixes++
		}
	}
	if len(faults.List) > 0 {
		return parts
	}
	if levels == 0 {
		faults.add(0, "generator", text, "must have a level to start from: one of "+strings.Join(levelNames(), ", "))
	}
	if mixes > 1 {
		faults.add(0, "mix", text, "must come once")
	}
	return parts
}

// splitParts cuts at each + that begins a name, so that 1e+3 stays a number.
func splitParts(text string) []string {
	var pieces []string
	from := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '+' {
			continue
		}
		next := strings.TrimLeft(text[i+1:], " ")
		if next != "" && next[0] >= '0' && next[0] <= '9' {
			continue
		}
		pieces = append(pieces, text[from:i])
		from = i + 1
	}
	return append(pieces, text[from:])
}

func (p *part) parseKeys(text string, faults *Faults) {
	if text == "" {
		if p.generator.role == mixing {
			faults.add(0, "mix", "", "must name kinds of requests and their shares, such as mix:query=70..30,buy=30..70")
		}
		return
	}
	given := map[string]bool{}
	before := len(faults.List)
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" {
			faults.add(0, p.generator.name, pair, "must be key=value")
			continue
		}
		if given[name] {
			faults.add(0, p.generator.name+" "+name, value, "must be given once")
			continue
		}
		given[name] = true
		k := slices.IndexFunc(p.generator.keys, func(k key) bool { return k.name == name })
		if k < 0 {
			if p.generator.role == mixing {
				p.parseShare(name, value, faults)
				continue
			}
			names := p.generator.keyNames()
			faults.add(0, p.generator.name, name, "must be one of "+strings.Join(names, ", ")+didYouMean(name, names))
			continue
		}
		number, want := p.generator.keys[k].kind.parse(value)
		if want != "" {
			faults.add(0, p.generator.name+" "+name, value, want)
			continue
		}
		p.settings[name] = number
	}
	if len(faults.List) == before {
		p.check(faults)
	}
}

// check validates combinations of keys.
func (p *part) check(faults *Faults) {
	low, hasLow := p.settings["low"]
	if high := p.settings["high"]; hasLow && high < low {
		faults.add(0, p.generator.name+" high", formatNumber(high), "must be at least low, "+formatNumber(low))
	}
	if p.generator.role == mixing && len(p.shares) == 0 {
		faults.add(0, "mix", "", "must name kinds of requests and their shares, such as mix:query=70..30,buy=30..70")
	}
	begin, end := 0.0, 0.0
	for _, s := range p.shares {
		begin, end = begin+s.from, end+s.to
	}
	if len(p.shares) > 0 && (begin == 0 || end == 0) {
		faults.add(0, "mix", "0", "must have a share above 0 at the beginning and at the end")
	}
}

// kindShare is one kind's share at the beginning and at the end of a drift.
type kindShare struct {
	kind     string
	from, to float64
}

func (p *part) parseShare(kind, value string, faults *Faults) {
	from, to, drifts := strings.Cut(value, "..")
	if !drifts {
		to = from
	}
	begin, want := aFactor.parse(from)
	end, wantEnd := aFactor.parse(to)
	if want != "" || wantEnd != "" {
		faults.add(0, "mix "+kind, value, "must be a share such as 70, or two such as 70..30 for a drift")
		return
	}
	p.shares = append(p.shares, kindShare{kind, begin, end})
}

// keyKind is what a key's value must be.
type keyKind int

const (
	aRate     keyKind = iota // requests per second
	aFactor                  // a number of at least 0
	aDuration                // longer than 0
	anInstant                // 0 or later
)

// parse returns the value in base units, or what it must be.
func (k keyKind) parse(text string) (value float64, want string) {
	switch k {
	case aRate, aFactor:
		v, err := parseNumber([]byte(text))
		if err != nil || v < 0 || v > 1e12 {
			want := "must be a number from 0 to 1e12"
			if k == aRate {
				want += ", in requests per second"
			}
			return 0, want
		}
		return v, ""
	}
	d, err := parseDuration(text)
	switch {
	case err != nil || d < 0 || d > 3650*24*time.Hour:
		return 0, "must be a duration such as 90s, 10m, 24h or 7d, at most ten years"
	case k == aDuration && d == 0:
		return 0, "must be a duration longer than 0, such as 90s, 10m, 24h or 7d"
	}
	return d.Seconds(), ""
}

// parseDuration also accepts days, which time.ParseDuration does not.
func parseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		v, err := parseNumber([]byte(days))
		if err != nil || math.Abs(v) > 100_000 {
			return 0, errNumber
		}
		return time.Duration(v * 24 * float64(time.Hour)), nil
	}
	return time.ParseDuration(text)
}

func formatNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// generate runs the parts over the bins.
func generate(parts []part, duration, step time.Duration, seed uint64) *Workload {
	bins := int(duration / step)
	w := &Workload{Step: step, Rates: make([]float64, bins)}
	var levels, factors []signal
	for i, p := range parts {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		run := during{settings: p.settings, duration: duration, rng: rng}
		switch p.generator.role {
		case level:
			levels = append(levels, p.generator.build(run))
		case factor:
			factors = append(factors, p.generator.build(run))
		case mixing:
			w.Mix = driftingMix(p, duration, step, rng)
		}
	}
	for i := range w.Rates {
		from, to := time.Duration(i)*step, time.Duration(i+1)*step
		for _, s := range levels {
			w.Rates[i] += s(from, to)
		}
		for _, s := range factors {
			w.Rates[i] *= s(from, to)
		}
	}
	return w
}
