package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/msars"
)

// steered is an agent that steers by parts of the SLO.
type steered struct{ *msars.Model }

func (m steered) formulation() string          { return "msars" }
func (m steered) training() modelfile.Training { return m.Training }
func (m steered) trainedFor() string           { return m.App }

func (m steered) fits(app *loadline.App) error {
	_, err := msars.NewPolicy(m.Model, app, 0)
	return err
}

// file keeps what the school found beside what was found since.
func (m steered) file(results []modelfile.Result) (*modelfile.File, error) {
	whole := *m.Model
	if len(results) > 0 {
		whole.Results = results
	}
	return whole.File()
}

func (m steered) about() about {
	a := about{
		formulation: "the users' SLO split among the services, and one agent that scales each of them to its part",
		every:       m.Period.String(),
		more:        [][2]string{{"splits by", m.way()}, {"profiles", m.profiles()}},
		features:    slices.Clone(drpc.LocalFeatures[:]),
		meanings:    map[string]string{"latency_p99": "response time at the SLO's percentile over the service's part"},
		absent:      "of whichever service, all are left as they are; and somebody must count the requests of each kind, or at least what their entries are asked",
		services:    m.Services,
	}
	for _, f := range msars.Features {
		a.features = append(a.features, f.Name)
		a.meanings[f.Name] = f.About
	}
	return a
}

func (m steered) way() string {
	if m.Division.Way == msars.None {
		return "nobody: everybody is held to the users' SLO"
	}
	return m.Division.Way
}

// profiles of each service: at which percentiles and CPU limits they were measured.
func (m steered) profiles() string {
	if m.Division.Profiles == nil {
		return "none"
	}
	var all []string
	for _, service := range m.Services {
		sizes := map[float64][]string{} // by percentile
		for i := range m.Division.Profiles.Profiles {
			if p := &m.Division.Profiles.Profiles[i]; p.Service == service {
				cores := "any"
				if p.Size.CPULimit > 0 {
					cores = fmt.Sprintf("%.3g", p.Size.CPULimit)
				}
				sizes[p.Percentile] = append(sizes[p.Percentile], cores)
			}
		}
		for _, percentile := range slices.Sorted(maps.Keys(sizes)) {
			all = append(all, fmt.Sprintf("%s p%g at %s cores", service, percentile, strings.Join(sizes[percentile], ", ")))
		}
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, "; ")
}
