package learned

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/slosplit"
)

// ReleaseSet is an application in several releases, with instances of several sizes. The
// profile of a service in one release and size is measured once. It is safe for
// concurrent use.
type ReleaseSet struct {
	app      *loadline.App
	releases [][]release // by release and service

	mu       sync.Mutex
	profiles map[profileKey]*measured
}

// release of one service: factors on its CPU and waiting time.
type release struct{ cpu, wait float64 }

// Choice is what is deployed of a service.
type Choice struct {
	Release int     // from 0; 0 is the unchanged application
	Size    float64 // factor on the CPU of an instance
}

type profileKey struct {
	service    int
	release    release
	size       float64
	percentile float64
}

type measured struct {
	once    sync.Once
	profile *profile.Profile
	err     error
}

// How releases differ: about half of the services change from one to the next, by factors that
// are often above 1.5 and sometimes above 2, as reported in the paper.
const (
	releaseChanges = 0.5
	releaseSpread  = 0.45 // of the factors' logarithms
	releaseLeast   = 0.4
	releaseMost    = 2.5
)

// Sizes that instances come in, as factors on their CPU.
var Sizes = []float64{0.5, 1, 2}

// NewReleaseSet makes releases of an application, the first of which is unchanged. The same
// seed gives the same releases.
func NewReleaseSet(app *loadline.App, releases int, seed uint64) *ReleaseSet {
	rng := rand.New(rand.NewPCG(seed, 0))
	s := &ReleaseSet{app: app, profiles: map[profileKey]*measured{}}
	now := make([]release, len(app.Services))
	for i := range now {
		now[i] = release{1, 1}
	}
	factor := func() float64 {
		return min(max(math.Exp(releaseSpread*rng.NormFloat64()), releaseLeast), releaseMost)
	}
	for range releases {
		s.releases = append(s.releases, slices.Clone(now))
		for i := range now {
			if rng.Float64() < releaseChanges {
				now[i] = release{factor(), factor()}
			}
		}
	}
	return s
}

// Releases is how many there are.
func (s *ReleaseSet) Releases() int { return len(s.releases) }

// App is the application with these choices deployed.
func (s *ReleaseSet) App(deployed []Choice) *loadline.App {
	app := *s.app
	app.Services = slices.Clone(s.app.Services)
	for i, choice := range deployed {
		of, r := &app.Services[i], s.releases[choice.Release][i]
		of.Size.CPURequest *= choice.Size
		of.Size.CPULimit *= choice.Size
		if len(of.Versions) == 0 {
			of.Versions = []loadline.Version{{Name: fmt.Sprintf("v%d", choice.Release+1), Weight: 1, CPU: r.cpu, Wait: r.wait}}
			continue
		}
		// A version may have calls of its own.
		of.Versions = slices.Clone(of.Versions)
		for j := range of.Versions {
			of.Versions[j].CPU *= r.cpu
			of.Versions[j].Wait *= r.wait
		}
	}
	return &app
}

// Uniform is one release of every service, in default sizes.
func (s *ReleaseSet) Uniform(release int) []Choice {
	list := make([]Choice, len(s.app.Services))
	for i := range list {
		list[i] = Choice{release, 1}
	}
	return list
}

// profileLoads and profileVisits are fewer than in loadline profile: a tail within a few per
// cent is enough to learn from, and there are hundreds of profiles.
var profileLoads = []float64{0.1, 0.3, 0.5, 0.65, 0.78, 0.88, 0.95, 1}

const profileVisits = 4000

// profile of a service, measured with all others unchanged.
func (s *ReleaseSet) profile(ctx context.Context, service int, c Choice, percentile float64) (*profile.Profile, error) {
	key := profileKey{service, s.releases[c.Release][service], c.Size, percentile}
	s.mu.Lock()
	m := s.profiles[key]
	if m == nil {
		m = &measured{}
		s.profiles[key] = m
	}
	s.mu.Unlock()
	m.once.Do(func() {
		deployed := s.Uniform(0)
		deployed[service] = c
		m.profile, m.err = profile.Measure(ctx, s.App(deployed), service,
			profile.Options{Percentile: percentile, Seeds: 1, Visits: profileVisits, Loads: profileLoads})
	})
	return m.profile, m.err
}

// Measured is the number of measured profiles.
func (s *ReleaseSet) Measured() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.profiles)
}

// shapes of the unchanged application's chains, without profiles.
func (s *ReleaseSet) shapes() ([]slosplit.Chain, error) {
	return slosplit.Cut(s.app, make([]float64, len(s.app.Kinds)), nil)
}

// chain finds the chain through the same services as another, with these choices deployed: in
// another release another call may be the slowest, and the order may change. Only profiles of
// its services are measured.
func (s *ReleaseSet) chain(ctx context.Context, deployed []Choice, perSecond []float64, like *slosplit.Chain) (slosplit.Chain, error) {
	var fault error
	chains, err := slosplit.Cut(s.App(deployed), perSecond, func(service int, percentile float64) *profile.Profile {
		if !slices.ContainsFunc(like.Steps, func(st slosplit.Step) bool { return st.Service == service }) {
			return nil
		}
		p, err := s.profile(ctx, service, deployed[service], percentile)
		if err != nil && fault == nil {
			fault = err
		}
		return p
	})
	if fault != nil {
		return slosplit.Chain{}, fault
	}
	if err != nil {
		return slosplit.Chain{}, err
	}
	at := slices.IndexFunc(chains, func(c slosplit.Chain) bool {
		return c.Kind == like.Kind && slices.EqualFunc(c.Steps, like.Steps,
			func(a, b slosplit.Step) bool { return a.Service == b.Service })
	})
	if at < 0 {
		return slosplit.Chain{}, fmt.Errorf("there is no longer a chain of %s through the same %d services", like.Kind, len(like.Steps))
	}
	return chains[at], nil
}
