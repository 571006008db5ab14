package policy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/msars"
	"github.com/loadline/loadline/internal/policy/msars/trainer"
	"github.com/loadline/loadline/internal/profile"
)

// msarsMethod is MSARS: the SLO is divided among the services, and TD3 scales each to its part.
var msarsMethod = Method{
	Name: "msars",
	About: "MSARS: the SLO is divided among the services, anew when a profile, a size or the load changes, and TD3 scales each to " +
		"its part; " +
		"replicas first, then CPU, memory",
	Options: func(*loadline.App) []Option { return []Option{DelayOption()} },
	Kind:    msars.FileKind,
	Open: func(file *modelfile.File) (Model, error) {
		m, err := msars.FromFile(file)
		return msarsModel{m}, err
	},
	NewFrom: func(m Model, app *loadline.App, v Values) (loadline.Policy, error) {
		return msars.NewPolicy(m.(msarsModel).Model, app, v.Span("delay"))
	},
	Train: trainMSARS,
}

// profiledUntil is the share of the time for measuring profiles, for progress.
const profiledUntil = 0.05

// trainMSARS splits by parslo: splitting networks would have to be trained first, and in the
// one available comparison (docs/msars.md) they are not better.
func trainMSARS(ctx context.Context, t Task) (*Trained, error) {
	known, err := t.profiles(ctx, Part(t.Progress, 0, profiledUntil))
	if err != nil {
		return nil, err
	}
	rest := Part(t.report, profiledUntil, 1)
	model, r, err := trainer.Run(ctx, t.Scenario, known, msarsConfig(t), trainer.Hooks{
		Progress: func(share float64, _ string) { rest(share) },
	})
	if err != nil {
		return nil, err
	}
	// It is trained with MSARS' own reward, of parts of the SLO, and DRPC's is reported as
	// well.
	trained := &Trained{Model: msarsModel{model}, Parameters: r.Parameters}
	for _, p := range r.Curve {
		trained.AddPoint(p.Point, p.CommonReward)
	}
	for _, x := range r.Results {
		trained.AddEvaluation(x.Policy, x.CommonReward, x.Users, x.Result)
	}
	return trained, nil
}

// profiles of the task, or measured ones.
func (t Task) profiles(ctx context.Context, progress func(float64)) (*profile.Set, error) {
	if t.Profiles != nil {
		return t.Profiles(ctx, progress)
	}
	set := &profile.Set{App: t.Scenario.App.Name}
	_, err := trainer.Complete(ctx, t.Scenario.App, set, progress)
	return set, err
}

// msarsConfig uses as many whole episodes as the steps allow: the trainer does not truncate the
// last one, and no method gets more steps than another.
func msarsConfig(t Task) trainer.Config {
	c := trainer.Default("parslo")
	c.Seed = t.Seed
	c.Episode = min(c.Episode, t.Steps)
	c.Most = t.Steps - t.Steps%c.Episode
	c.Every = t.Every()
	c.Episodes = t.Episodes(c.Episodes)
	c.Agent.Explore.Steps = min(c.Agent.Explore.Steps, c.Most*2/3)
	c.Agent.WarmUp = min(c.Agent.WarmUp, max(c.Agent.Batch, c.Most/8))
	c.Agent.Rate *= t.Rate
	c.Agent.ActorRate *= t.Rate
	return c
}

// msarsModel is an agent that scales each service to its part of the SLO.
type msarsModel struct{ *msars.Model }

// Method implements Model.
func (m msarsModel) Method() string { return "msars" }

// TrainedFor implements Model.
func (m msarsModel) TrainedFor() string { return m.App }

// Policy implements Model.
func (m msarsModel) Policy(app *loadline.App) (loadline.Policy, error) {
	return msars.NewPolicy(m.Model, app, 0)
}

// File implements Model.
func (m msarsModel) File(results []modelfile.Result) (*modelfile.File, error) {
	whole := *m.Model
	if len(results) > 0 {
		whole.Results = results
	}
	return whole.File()
}

// About implements Model.
func (m msarsModel) About() About {
	a := About{
		Formulation: "the users' SLO split among the services, and one agent that scales each of them to its part",
		Every:       m.Period.String(),
		More:        [][2]string{{"splits by", m.way()}, {"profiles", m.profiles()}},
		Features:    slices.Clone(drpc.LocalFeatures[:]),
		Meanings:    map[string]string{"latency_p99": "response time at the SLO's percentile over the service's part"},
		Absent: "of whichever service, all are left as they are; the requests of each kind must be counted, " +
			"or at least those that their entry services receive",
		Services: m.Services,
	}
	for _, f := range msars.Features {
		a.Features = append(a.Features, f.Name)
		a.Meanings[f.Name] = f.About
	}
	for _, service := range m.Services {
		if m.Passed(service) {
			a.OnPaths = append(a.OnPaths, service)
		}
	}
	return a
}

func (m msarsModel) way() string {
	if m.Division.Way == msars.None {
		return "nothing: every service is held to the users' SLO"
	}
	return m.Division.Way
}

// profiles of each service: at which percentiles and CPU limits they were measured.
func (m msarsModel) profiles() string {
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
