package trainer

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/msars"
	"github.com/loadline/loadline/internal/profile"
)

// sizes of a service that are measured, as factors on its CPU limit; those at its bounds
// are measured too.
var sizes = []float64{0.25, 0.5, 1, 2, 4}

// Fewer loads and visits than loadline profile uses: each service has several sizes, and
// the window of a live service does not measure tails more exactly than to some percent.
var profileLoads = []float64{0.1, 0.3, 0.5, 0.65, 0.78, 0.88, 0.95, 1}

const (
	profileVisits = 4000
	profileSeeds  = 2
)

// sizesOf are a service's own size and others within its bounds, with the CPU request in
// proportion to the limit. A service without a limit has only its own.
func sizesOf(s *loadline.Service) []loadline.Size {
	list := []loadline.Size{s.Size}
	if s.Size.CPULimit <= 0 {
		return list
	}
	b := s.Bounds
	limits := make([]float64, 0, len(sizes)+2)
	for _, f := range sizes {
		limits = append(limits, f*s.Size.CPULimit)
	}
	if b.MaxCPU > 0 {
		limits = append(limits, b.MaxCPU)
	}
	if b.MinCPU > 0 {
		limits = append(limits, b.MinCPU)
	}
	for _, limit := range limits {
		limit = max(limit, b.MinCPU)
		if b.MaxCPU > 0 {
			limit = min(limit, b.MaxCPU)
		}
		// At less than the idle CPU no request is served.
		near := func(o loadline.Size) bool { return limit > 0.8*o.CPULimit && limit < 1.25*o.CPULimit }
		if limit <= 2*s.IdleCPU || slices.ContainsFunc(list, near) {
			continue
		}
		size := s.Size
		size.CPURequest *= limit / s.Size.CPULimit
		size.CPULimit = limit
		list = append(list, size)
	}
	slices.SortFunc(list, func(a, b loadline.Size) int {
		if a.CPULimit < b.CPULimit {
			return -1
		}
		return 1
	})
	return list
}

// Complete adds the missing profiles to a set, measured in the event engine, and returns
// their number. They are measured in parallel; the result does not depend on the number of
// processors. Progress may be nil.
func Complete(ctx context.Context, app *loadline.App, set *profile.Set, progress func(share float64)) (measured int, err error) {
	type job struct {
		need    msars.Need
		size    loadline.Size
		profile *profile.Profile
		err     error
	}
	if progress == nil {
		progress = func(float64) {}
	}
	var jobs []job
	for _, n := range msars.Needed(app) {
		s := &app.Services[n.Service]
		for _, size := range sizesOf(s) {
			known := slices.ContainsFunc(set.Profiles, func(p profile.Profile) bool {
				return p.Service == s.Name && p.Version == "" && p.Percentile == n.Percentile && p.Size.CPULimit == size.CPULimit
			})
			if !known {
				jobs = append(jobs, job{need: n, size: size})
			}
		}
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	next, done := 0, 0
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for {
				mu.Lock()
				at := next
				next++
				mu.Unlock()
				if at >= len(jobs) {
					return
				}
				j := &jobs[at]
				j.profile, j.err = profile.Measure(ctx, app, j.need.Service, profile.Options{
					Percentile: j.need.Percentile, Size: &j.size, Seeds: profileSeeds, Visits: profileVisits, Loads: profileLoads,
				})
				mu.Lock()
				done++
				progress(float64(done) / float64(len(jobs)))
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	for i := range jobs {
		if jobs[i].err != nil {
			return 0, fmt.Errorf("profile of %s: %w", app.Services[jobs[i].need.Service].Name, jobs[i].err)
		}
		set.Profiles = append(set.Profiles, *jobs[i].profile)
	}
	return len(jobs), nil
}
