package msars

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/profile"
)

// Library is the load-latency profiles of an application's services, each measured at a few
// sizes. Values between two sizes are interpolated. It is for one goroutine.
type Library struct {
	app      *loadline.App
	profiles [][]measured // by service; CPU limits rising
	cache    map[wanted]*profile.Profile
}

// measured is a profile with the CPU limit that it was measured at; 0 = none.
type measured struct {
	cores   float64
	profile *profile.Profile
}

type wanted struct {
	service    int
	cores      float64
	percentile float64
}

// libraryMost is the maximum number of computed profiles that are kept.
const libraryMost = 4096

// NewLibrary makes a library of a set. It is an error if a service that is visited by a
// request with an SLO has no usable profile.
func NewLibrary(app *loadline.App, set *profile.Set) (*Library, error) {
	l := newLibrary(app, set)
	var faults []error
	for _, n := range Needed(app) {
		if err := l.missing(n, app.Services[n.Service].Size); err != nil {
			faults = append(faults, fmt.Errorf("%w: measure it with loadline profile, or leave the profiles out and have all measured",
				err))
		}
	}
	return l, errors.Join(faults...)
}

// newLibrary makes a library without checking that it is complete.
func newLibrary(app *loadline.App, set *profile.Set) *Library {
	l := &Library{app: app, profiles: make([][]measured, len(app.Services)), cache: map[wanted]*profile.Profile{}}
	for i := range set.Profiles {
		p := &set.Profiles[i]
		service := app.ServiceIndex(p.Service)
		if service < 0 || p.Version != "" {
			continue // of another application, or of a version that may not be deployed
		}
		if _, err := p.Curve(); err != nil {
			continue // saturated throughout: unusable at this size
		}
		l.profiles[service] = append(l.profiles[service], measured{p.Size.CPULimit, p})
	}
	for i := range l.profiles {
		slices.SortStableFunc(l.profiles[i], func(a, b measured) int {
			switch {
			case a.cores < b.cores:
				return -1
			case a.cores > b.cores:
				return 1
			}
			return 0
		})
	}
	return l
}

// missing reports that there is no profile for a need at a size, and which ones there are.
func (l *Library) missing(n Need, size loadline.Size) error {
	if l.Profile(n.Service, size, n.Percentile) != nil {
		return nil
	}
	var others []string // available percentiles
	for _, m := range l.profiles[n.Service] {
		if p := fmt.Sprintf("p%g", m.profile.Percentile); !slices.Contains(others, p) {
			others = append(others, p)
		}
	}
	instead := ""
	switch measured := slices.Contains(others, fmt.Sprintf("p%g", n.Percentile)); {
	case measured && size.CPULimit == 0:
		instead = " without a CPU limit, only with one"
	case measured:
		instead = fmt.Sprintf(" and %.3g cores, only without a CPU limit", size.CPULimit)
	case len(others) > 0:
		instead = ", only at " + strings.Join(others, ", ")
	}
	return fmt.Errorf("%w of %s at p%g%s", profile.ErrAbsent, l.app.Services[n.Service].Name, n.Percentile, instead)
}

// Need is a service that needs a profile, and at which percentile.
type Need struct {
	Service    int
	Percentile float64
}

// Needed are the profiles that an application's split needs: of every service that a request
// with an SLO may visit, at that SLO's percentile. Calls that are never made, because no
// version that makes them is deployed, need none.
func Needed(app *loadline.App) []Need {
	var list []Need
	unloaded := formulation.Unloaded{App: app}
	var walk func(c *loadline.Call, percentile float64)
	walk = func(c *loadline.Call, percentile float64) {
		if n := (Need{c.Service, percentile}); !slices.Contains(list, n) {
			list = append(list, n)
		}
		for _, stage := range c.Stages {
			for i := range stage {
				if unloaded.Made(&stage[i], c.Service) > 0 {
					walk(&stage[i], percentile)
				}
			}
		}
	}
	for k := range app.Kinds {
		if kind := &app.Kinds[k]; kind.SLO.Latency > 0 {
			walk(&kind.Root, kind.SLO.Percentile)
		}
	}
	return list
}

// Profile of a service at a size and a percentile; nil if there is none. Beyond the largest and
// the smallest measured size it is the nearest one, scaled by the ratio of their CPU: with half
// the CPU an instance takes twice as long.
func (l *Library) Profile(service int, size loadline.Size, percentile float64) *profile.Profile {
	key := wanted{service, size.CPULimit, percentile}
	if p, known := l.cache[key]; known {
		return p
	}
	if len(l.cache) >= libraryMost {
		clear(l.cache)
	}
	p := l.find(key)
	if p != nil {
		own := *p
		own.Size = profile.Size(size)
		p = &own
	}
	l.cache[key] = p
	return p
}

func (l *Library) find(w wanted) *profile.Profile {
	var below, above *measured
	for i := range l.profiles[w.service] {
		m := &l.profiles[w.service][i]
		if m.profile.Percentile != w.percentile {
			continue
		}
		switch {
		case m.cores == w.cores:
			return m.profile
		case m.cores < w.cores:
			below = m
		case above == nil:
			above = m
		}
	}
	switch {
	case below == nil && above == nil:
		return nil
	case w.cores == 0 || below != nil && below.cores == 0:
		// An instance without a limit has a whole node: there is no interpolation.
		return nil
	case below == nil:
		return above.profile.Stretch(above.cores/w.cores, 0)
	case above == nil:
		return below.profile.Stretch(below.cores/w.cores, 0)
	}
	return between(below, above, w.cores)
}

// between two sizes, latencies and loads are interpolated linearly over the logarithm of the
// CPU: both are powers of it where the time is all CPU, and constant where there is none.
// Points at the same share of the two profiles' ends correspond.
func between(below, above *measured, cores float64) *profile.Profile {
	part := math.Log(cores/below.cores) / math.Log(above.cores/below.cores)
	mix := func(a, b float64) float64 {
		if a <= 0 || b <= 0 {
			return a + part*(b-a)
		}
		return math.Exp(math.Log(a) + part*(math.Log(b)-math.Log(a)))
	}
	other, err := above.profile.Curve()
	if err != nil {
		return below.profile // then it is not in the library
	}
	endBelow, endAbove := end(below.profile), end(above.profile)
	p := *below.profile
	p.Points = nil
	for _, pt := range below.profile.Points {
		load := pt.Load / endBelow * endAbove
		latency := other.At(load)
		pt.Load = mix(pt.Load, load)
		if pt.Saturated = pt.Saturated || math.IsInf(latency, 1); pt.Saturated {
			pt.Latency, pt.Error = 0, 0
		} else {
			pt.Latency = mix(pt.Latency, latency)
		}
		p.Points = append(p.Points, pt)
		if pt.Saturated {
			break
		}
	}
	return &p
}

// end is the load at which a profile saturated, or the highest that was served.
func end(p *profile.Profile) float64 {
	if load, seen := p.Saturation(); seen {
		return load
	}
	return p.Points[len(p.Points)-1].Load
}
