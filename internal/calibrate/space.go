package calibrate

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

// Dimension is one setting that is searched.
type Dimension struct {
	Key    string
	Unit   string    // behind the number: "s" for seconds
	Coarse []float64 // rising; its ends are the ends of the range
	Step   float64   // finest difference that is tried; 0 = Only
	Only   []float64 // the values that there are, if not all
}

// spaces by policy. HPA's target may go beyond the request, since limits do; its
// scale-down window is from none to the default. The others follow what their
// authors leave to be set.
var spaces = map[string][]Dimension{
	"hpa": hpaSpace,
	"kpa": {
		{Key: "target", Coarse: []float64{0.2, 0.5, 1, 2, 4, 10, 100}, Step: 0.1},
		{Key: "stable-window", Unit: "s", Coarse: []float64{20, 60, 180}, Step: 10},
		{Key: "panic-window", Coarse: []float64{10, 30}, Step: 5},
	},
	"vpa": {
		{Key: "percentile", Coarse: []float64{50, 75, 90, 99}, Step: 1},
		{Key: "margin", Coarse: []float64{0, 15, 40, 80, 150, 300}, Step: 5},
		// A recommender that has watched for a week no longer distrusts itself.
		{Key: "history", Unit: "h", Coarse: []float64{0, 168}, Only: []float64{0, 168}},
	},
	"hpa+vpa": hpaSpace,
	"ursa": {
		{Key: "utilisation", Coarse: []float64{15, 30, 45, 60, 75, 90}, Step: 2},
		{Key: "down-window", Unit: "s", Coarse: []float64{0, 60, 180, 300}, Step: 15},
	},
	"autothrottle": {
		{Key: "busy-target", Coarse: []float64{0, 0.04, 0.1, 0.2, 0.3}, Only: throttleTargets},
		{Key: "quiet-target", Coarse: []float64{0, 0.04, 0.1, 0.2, 0.3}, Only: throttleTargets},
	},
}

var hpaSpace = []Dimension{
	{Key: "target", Coarse: []float64{30, 45, 60, 75, 90, 115, 150, 200}, Step: 2.5},
	{Key: "down-window", Unit: "s", Coarse: []float64{0, 60, 150, 300}, Step: 15},
}

var throttleTargets = []float64{0, 0.02, 0.04, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3}

// engines in which a policy is searched, if not in the fluid one: that knows the
// mean of a step, and autothrottle lives by what happens within a second.
var engines = map[string]string{"autothrottle": "event"}

// Names of the policies that can be calibrated.
func Names() []string {
	var names []string
	for _, name := range policy.Names() {
		if _, known := spaces[name]; known {
			names = append(names, name)
		}
	}
	return names
}

// space is what may be set of one policy.
type space struct {
	policy     string // with the settings that are fixed
	engine     string
	dimensions []Dimension
	origin     []float64 // the defaults
}

// spaceOf a policy. Settings that it comes with are not searched.
func spaceOf(spec string, app *loadline.App) (space, error) {
	name, settings, _ := strings.Cut(spec, ":")
	all, known := spaces[name]
	if !known {
		if slices.Contains(policy.Names(), name) {
			return space{}, fmt.Errorf("policy %s has nothing to calibrate; those that have: %s", name, strings.Join(Names(), ", "))
		}
		return space{}, fmt.Errorf("unknown policy %q%s", name, suggest.Hint(name, Names()))
	}
	s := space{policy: spec, engine: "fluid"}
	if e := engines[name]; e != "" {
		s.engine = e
	}
	for _, d := range all {
		if !strings.Contains(","+settings, ","+d.Key+"=") {
			s.dimensions = append(s.dimensions, d)
			s.origin = append(s.origin, defaultOf(name, d))
		}
	}
	if len(s.dimensions) == 0 {
		return s, fmt.Errorf("policy %s: everything that could be calibrated is given", spec)
	}
	_, err := policy.New(s.spec(s.origin), app)
	return s, err
}

// defaultOf reads a default where the policy declares it.
func defaultOf(name string, d Dimension) float64 {
	for _, info := range policy.List() {
		for _, o := range info.Options {
			if info.Name != name || o.Key != d.Key {
				continue
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

// gridPoints are all combinations of the coarse values.
func (s space) gridPoints() [][]float64 {
	points := [][]float64{nil}
	for _, d := range s.dimensions {
		var longer [][]float64
		for _, p := range points {
			for _, v := range d.Coarse {
				longer = append(longer, append(slices.Clone(p), v))
			}
		}
		points = longer
	}
	return points
}

// around are the neighbours of a point along one dimension: half-way to the next
// coarse value, then a quarter.
func (s space) around(p []float64, i, round int) [][]float64 {
	d := s.dimensions[i]
	var points [][]float64
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

func (d Dimension) below(v float64) float64 {
	for i := len(d.Coarse) - 1; i >= 0; i-- {
		if d.Coarse[i] < v-1e-9 {
			return d.Coarse[i]
		}
	}
	return d.Coarse[0]
}

func (d Dimension) above(v float64) float64 {
	for _, c := range d.Coarse {
		if c > v+1e-9 {
			return c
		}
	}
	return d.Coarse[len(d.Coarse)-1]
}

// nearestOnly is the value that there is in the direction of v, seen from here.
func (d Dimension) nearestOnly(v, here float64) float64 {
	best := here
	for _, o := range d.Only {
		if (o-here)*(v-here) > 0 && (best == here || math.Abs(o-v) < math.Abs(best-v)) {
			best = o
		}
	}
	return best
}

// spec of a point, as it would be written.
func (s space) spec(p []float64) string {
	text := s.policy
	join := ":"
	if strings.Contains(text, ":") {
		join = ","
	}
	for i, d := range s.dimensions {
		text += join + d.Key + "=" + strconv.FormatFloat(p[i], 'g', -1, 64) + d.Unit
		join = ","
	}
	return text
}

// distance from the default, in ranges. What is no point is farther than any.
func (s space) distance(p []float64) float64 {
	if p == nil {
		return float64(len(s.dimensions) + 1)
	}
	sum := 0.0
	for i, d := range s.dimensions {
		sum += math.Abs(p[i]-s.origin[i]) / (d.Coarse[len(d.Coarse)-1] - d.Coarse[0])
	}
	return sum
}
