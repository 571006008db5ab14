package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/suggest"
)

// Rules stands for all plain rules together, in place of a policy's name: what a calibration finds
// is the best of them.
const Rules = "rules"

// plainRules are those that a plain deployment runs: Kubernetes' own autoscaler, and KEDA on the
// request rate.
var plainRules = []string{"hpa", "keda"}

// rulesOf a policy to be calibrated: itself, or the plain rules with its settings.
func rulesOf(spec string) []string {
	name, settings, given := strings.Cut(spec, ":")
	if name != Rules {
		return []string{spec}
	}
	var all []string
	for _, rule := range plainRules {
		if given {
			rule += ":" + settings
		}
		all = append(all, rule)
	}
	return all
}

// CalibrationNames of the policies that can be calibrated.
func CalibrationNames() []string {
	var names []string
	for _, m := range policy.Methods() {
		if len(m.Search) > 0 {
			names = append(names, m.Name)
		}
	}
	return append(names, Rules)
}

// dimension is one setting that is searched.
type dimension policy.Dimension

// space is the search space of one policy.
type space struct {
	policy     string // with its fixed settings
	engine     string
	dimensions []dimension
	origin     []float64 // the defaults
}

// spaceOf a policy. Given settings are not searched.
func spaceOf(spec string, app *loadline.App) (space, error) {
	name, settings, _ := strings.Cut(spec, ":")
	m, err := policy.Named(name)
	if err != nil {
		return space{}, fmt.Errorf("unknown policy %q%s", name, suggest.Hint(name, CalibrationNames()))
	}
	if len(m.Search) == 0 {
		return space{}, fmt.Errorf("policy %s has nothing to calibrate; those that have: %s", name, strings.Join(CalibrationNames(), ", "))
	}
	s := space{policy: spec, engine: "fluid"}
	if m.SearchEngine != "" {
		s.engine = m.SearchEngine
	}
	for _, d := range m.Search {
		if !strings.Contains(","+settings, ","+d.Key+"=") {
			s.dimensions = append(s.dimensions, dimension(d))
			s.origin = append(s.origin, defaultOf(name, dimension(d)))
		}
	}
	if len(s.dimensions) == 0 {
		return s, fmt.Errorf("policy %s: everything that could be calibrated is given", spec)
	}
	_, err = policy.New(s.spec(s.origin), app)
	return s, err
}

// defaultOf reads a default from the policy's options.
func defaultOf(name string, d dimension) float64 {
	for _, info := range policy.List() {
		for _, o := range info.Options {
			if info.Name != name || o.Key != d.Key {
				continue
			}
			if d.Words != nil {
				return float64(max(slices.Index(d.Words, o.Default), 0))
			}
			if d.Unit == "" {
				if v, err := strconv.ParseFloat(o.Default, 64); err == nil {
					return v
				}
			} else if v, err := time.ParseDuration(o.Default); err == nil {
				unit, _ := time.ParseDuration("1" + d.Unit)
				return float64(v) / float64(unit)
			}
		}
	}
	return d.Coarse[0]
}

func (s space) defaults() []float64 { return slices.Clone(s.origin) }

// gridPoints are all combinations of the coarse values; later dimensions are at their default.
func (s space) gridPoints() [][]float64 {
	points := [][]float64{nil}
	for i, d := range s.dimensions {
		values := d.Coarse
		if d.Later {
			values = s.origin[i : i+1]
		}
		var longer [][]float64
		for _, p := range points {
			for _, v := range values {
				longer = append(longer, append(slices.Clone(p), v))
			}
		}
		points = longer
	}
	return points
}

// around are the neighbours of a point along one dimension: halfway to the next coarse value,
// then a quarter; of words, all others.
func (s space) around(p []float64, i, round int) [][]float64 {
	d := s.dimensions[i]
	var points [][]float64
	for _, v := range d.Only {
		if d.Words != nil && v != p[i] {
			q := slices.Clone(p)
			q[i] = v
			points = append(points, q)
		}
	}
	if d.Words != nil {
		return points
	}
	for _, next := range []float64{d.below(p[i]), d.above(p[i])} {
		v := p[i] + (next-p[i])/math.Pow(2, float64(round+1))
		if d.Step > 0 {
			v = math.Round(v/d.Step) * d.Step
		} else {
			v = d.nearestOnly(v, p[i])
		}
		v = min(max(v, d.Coarse[0]), d.Coarse[len(d.Coarse)-1])
		if v != p[i] {
			q := slices.Clone(p)
			q[i] = v
			points = append(points, q)
		}
	}
	return points
}

func (d dimension) below(v float64) float64 {
	for i := len(d.Coarse) - 1; i >= 0; i-- {
		if d.Coarse[i] < v-1e-9 {
			return d.Coarse[i]
		}
	}
	return d.Coarse[0]
}

func (d dimension) above(v float64) float64 {
	for _, c := range d.Coarse {
		if c > v+1e-9 {
			return c
		}
	}
	return d.Coarse[len(d.Coarse)-1]
}

// nearestOnly is the allowed value closest to v in its direction from here.
func (d dimension) nearestOnly(v, here float64) float64 {
	best := here
	for _, o := range d.Only {
		if (o-here)*(v-here) > 0 && (best == here || math.Abs(o-v) < math.Abs(best-v)) {
			best = o
		}
	}
	return best
}

// spec of a point, as it would be written; later dimensions only where they are not at their
// default.
func (s space) spec(p []float64) string {
	text := s.policy
	join := ":"
	if strings.Contains(text, ":") {
		join = ","
	}
	for i, d := range s.dimensions {
		if d.Later && p[i] == s.origin[i] {
			continue
		}
		text += join + d.Key + "=" + d.text(p[i])
		join = ","
	}
	return text
}

// text of a value, as it would be written.
func (d dimension) text(v float64) string {
	if d.Words != nil {
		return d.Words[int(v)]
	}
	return strconv.FormatFloat(v, 'g', -1, 64) + d.Unit
}

// distance from the default, in ranges. Settings outside the space are farther than any point.
func (s space) distance(p []float64) float64 {
	if p == nil {
		return float64(len(s.dimensions) + 1)
	}
	sum := 0.0
	for i, d := range s.dimensions {
		if width := d.Coarse[len(d.Coarse)-1] - d.Coarse[0]; width > 0 {
			sum += math.Abs(p[i]-s.origin[i]) / width
		}
	}
	return sum
}
