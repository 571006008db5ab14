package workload

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
)

// Profile turns utilisation into a request rate, so that a trace of machines can drive an
// application (DRPC, section "Workload Processor and Predictor": requests are raised step by
// step on a host, and a three-layer perceptron is fitted to the measurements).
//
// This implementation is a monotone piecewise-linear map by isotonic least squares (pool
// adjacent violators) instead. A profile has one variable and a few dozen points, and more
// requests never use less CPU. A perceptron needs a seed and a learning rate, does not
// guarantee monotonicity, and extrapolates arbitrarily. This fit is the unique best monotone
// one, exact on data without noise, and never returns a rate above those measured.
type Profile struct {
	utilisation []float64 // rising strictly
	rate        []float64 // never falling
}

// Pair is one measured point: the utilisation (1 = all of it) at a rate of
// requests per second.
type Pair struct {
	Utilisation, Rate float64
}

// FitProfile fits a profile to measured pairs, in any order.
func FitProfile(pairs []Pair) (*Profile, error) {
	faults := newFaults("profile")
	for i, p := range pairs {
		if !(p.Utilisation >= 0) || math.IsInf(p.Utilisation, 0) {
			faults.add(0, fmt.Sprintf("utilisation of pair %d", i+1), fmt.Sprint(p.Utilisation), "must be a finite number of at least 0")
		}
		if !(p.Rate >= 0) || math.IsInf(p.Rate, 0) {
			faults.add(0, fmt.Sprintf("rate of pair %d", i+1), fmt.Sprint(p.Rate), "must be a finite number of at least 0")
		}
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	sorted := slices.Clone(pairs)
	sort.Slice(sorted, func(i, j int) bool {
		if sorted[i].Utilisation != sorted[j].Utilisation {
			return sorted[i].Utilisation < sorted[j].Utilisation
		}
		return sorted[i].Rate < sorted[j].Rate
	})
	points := samePlaceMerged(sorted)
	if len(points) < 2 {
		return nil, errors.New("profile: must have pairs at two different utilisations at least")
	}
	isotonic(points)
	p := &Profile{}
	for i, pt := range points {
		// Inside a flat segment only its ends matter.
		if i > 0 && i+1 < len(points) && points[i-1].rate == pt.rate && points[i+1].rate == pt.rate {
			continue
		}
		p.utilisation = append(p.utilisation, pt.utilisation)
		p.rate = append(p.rate, pt.rate)
	}
	return p, nil
}

type profilePoint struct {
	utilisation, rate, weight float64
}

// samePlaceMerged averages pairs at one utilisation.
func samePlaceMerged(sorted []Pair) []profilePoint {
	var points []profilePoint
	for _, p := range sorted {
		if n := len(points); n > 0 && points[n-1].utilisation == p.Utilisation {
			last := &points[n-1]
			last.weight++
			last.rate += (p.Rate - last.rate) / last.weight
			continue
		}
		points = append(points, profilePoint{p.Utilisation, p.Rate, 1})
	}
	return points
}

// isotonic replaces the rates by their best non-decreasing fit: decreasing neighbours are
// pooled into their weighted mean until none are left.
func isotonic(points []profilePoint) {
	type block struct {
		rate, weight float64
		points       int
	}
	var blocks []block
	for _, p := range points {
		blocks = append(blocks, block{p.rate, p.weight, 1})
		for n := len(blocks); n > 1 && blocks[n-2].rate > blocks[n-1].rate; n = len(blocks) {
			a, b := blocks[n-2], blocks[n-1]
			weight := a.weight + b.weight
			blocks[n-2] = block{a.rate*(a.weight/weight) + b.rate*(b.weight/weight), weight, a.points + b.points}
			blocks = blocks[:n-1]
		}
	}
	i := 0
	for _, b := range blocks {
		for range b.points {
			points[i].rate = b.rate
			i++
		}
	}
}

// Rate is the request rate at a utilisation. Between measured points it is linear; below the
// first it is proportional to the utilisation; above the last it is constant.
func (p *Profile) Rate(utilisation float64) float64 {
	n := len(p.utilisation)
	i := sort.SearchFloat64s(p.utilisation, utilisation)
	switch {
	case i == n:
		return p.rate[n-1]
	case p.utilisation[i] == utilisation:
		return p.rate[i]
	case i == 0:
		return p.rate[0] * max(0, utilisation) / p.utilisation[0]
	}
	part := (utilisation - p.utilisation[i-1]) / (p.utilisation[i] - p.utilisation[i-1])
	return p.rate[i-1] + part*(p.rate[i]-p.rate[i-1])
}

// ProportionalProfile assumes that the rate is proportional to utilisation: rpsAtFull requests
// per second at full utilisation.
func ProportionalProfile(rpsAtFull float64) (*Profile, error) {
	return FitProfile([]Pair{{0, 0}, {1, rpsAtFull}})
}

// ProfileFromApp derives a profile from an application's model: at a rate r its initial
// replicas, with C cores in total, use idle + r * CPU per request. CPU per request is the
// expected work of a request over the whole call tree, kinds weighted by their shares.
func ProfileFromApp(app *loadline.App) (*Profile, error) {
	cores, idle := 0.0, 0.0
	for i := range app.Services {
		s := &app.Services[i]
		size := s.Size.CPULimit
		if size == 0 {
			size = s.Size.CPURequest
		}
		cores += size * float64(s.Replicas)
		idle += s.IdleCPU * float64(s.Replicas)
	}
	perRequest := 0.0
	for _, seconds := range apps.Mix(app, apps.CPUSeconds(app)) {
		perRequest += seconds
	}
	if !(cores > idle) || !(perRequest > 0) || math.IsInf(perRequest, 0) {
		return nil, fmt.Errorf("profile of %s: must have cores beyond those its idle replicas use (%v of %v) and CPU per request "+
			"above 0 (%v s)", app.Name, idle, cores, perRequest)
	}
	points := []Pair{{1, (cores - idle) / perRequest}, {idle / cores, 0}}
	if idle > 0 {
		points = append(points, Pair{0, 0})
	}
	return FitProfile(points)
}

// ReadProfile fits a profile to a CSV with the columns utilisation (1 = all of
// it) and rps.
func ReadProfile(r io.Reader, name string) (*Profile, error) {
	faults := newFaults(name)
	lines := newLines(r, faults)
	head, ok := lines.next()
	names := splitNames(head)
	u, rps := slices.Index(names, "utilisation"), slices.Index(names, "rps")
	if !ok || u < 0 || rps < 0 {
		faults.add(1, "columns", string(head), "must have utilisation and rps")
		return nil, faults.err()
	}
	var pairs []Pair
	var fields [][]byte
	for line, ok := lines.next(); ok; line, ok = lines.next() {
		if len(line) == 0 {
			continue
		}
		if place, value, bad := notText(line); bad {
			faults.add(lines.number, place, value, wantText)
			continue
		}
		var err error
		fields, err = splitRow(line, fields)
		if err != nil || len(fields) != len(names) {
			faults.add(lines.number, "columns", string(line), fmt.Sprintf("must be a row of %d columns", len(names)))
			continue
		}
		var pair Pair
		for _, f := range []struct {
			name string
			at   int
			to   *float64
		}{{"utilisation", u, &pair.Utilisation}, {"rps", rps, &pair.Rate}} {
			v, err := parseNumber(fields[f.at])
			if err != nil || v < 0 {
				faults.add(lines.number, f.name, string(fields[f.at]), "must be a finite number of at least 0")
				continue
			}
			*f.to = v
		}
		pairs = append(pairs, pair)
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	profile, err := FitProfile(pairs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return profile, nil
}
