package policy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
)

// PHPA is a predictive HorizontalPodAutoscaler: the replicas that HPA calculates, or those that a
// forecast calls for within the look-ahead, whichever are more. Stabilisation and rate limits
// apply afterwards. The series that are forecast are in phpa_series.go. Its models are those of
// two projects:
//
//   - linear and holt-winters, as the Predictive Horizontal Pod Autoscaler has them: over the
//     replicas that HPA calculated. The line is through the latest of them; Holt-Winters predicts
//     once two seasons are known, until then it is HPA.
//   - traffic, as Kapacity's: the rate of requests is forecast, and a regression of CPU per pod on
//     requests per pod gives the fewest replicas that keep the CPU target.
//
// Nothing is known at the start of a run: the models learn from what the run itself shows.
//
// Where it differs from the originals:
//   - The smoothing factors of Holt-Winters are fitted to the past instead of configured, once a
//     season; the trend is damped.
//   - Kapacity forecasts with a deep network that is trained beforehand, and corrects its
//     regression by boosted trees. Here the forecast is Holt-Winters with a season once two of
//     them are known, a damped trend before; the regression is linear, without negative
//     coefficients.
//   - The largest value within the look-ahead counts; the line's is its end if it rises.
type PHPA struct {
	*HPA
	cfg phpaConfig
	of  []phpaSeries // by service
}

type phpaConfig struct {
	model     string
	lookAhead time.Duration
	step      time.Duration // of the series
	history   int           // bins of the line
	season    time.Duration // 0 = none
	target    float64       // CPU per pod, of the request
}

var phpaMethod = Method{
	Name:   "phpa",
	About:  "predictive HPA: the larger of what HPA calculates and what a forecast calls for",
	Search: phpaSearch,
	Options: func(*loadline.App) []Option {
		return slices.Concat(hpaOptions("80"), []Option{
			{"model", "linear", "what is forecast: linear or holt-winters (replicas), or traffic (requests)",
				OneOf("linear", "holt-winters", "traffic")},
			{"look-ahead", "60s", "how far ahead", Span(time.Second, time.Hour)},
			{"history", "6", "replicas that the line goes through", Count(2, 1000)},
			{"step", "", "between values of the series; unset = the period for the line, 1m for the others", Span(time.Second, time.Hour)},
			{"season", "24h", "after which load repeats, for holt-winters and traffic; 0s = never", Span(0, 8*24*time.Hour)},
		}, setupOptions())
	},
	New: func(app *loadline.App, v Values) (loadline.Policy, error) {
		p, err := newPHPA(app, v)
		if err != nil {
			return nil, err
		}
		return aroundRule(app, v, p)
	},
}

func newPHPA(app *loadline.App, v Values) (*PHPA, error) {
	hpa, err := newHPA(app, v)
	if err != nil {
		return nil, err
	}
	p := &PHPA{HPA: hpa, cfg: phpaConfig{
		model: v["model"], lookAhead: v.Span("look-ahead"), history: v.Int("history"), season: v.Span("season"), target: v.Float("target") / 100,
	}}
	switch {
	case v.IsSet("step"):
		p.cfg.step = v.Span("step")
	case p.cfg.model == "linear":
		p.cfg.step = v.Span("period")
	default:
		p.cfg.step = time.Minute
	}
	var faults []error
	if p.cfg.model == "traffic" && v["target"] == "off" {
		faults = append(faults, errors.New("model=traffic needs the CPU target: it finds the replicas that keep it"))
	}
	if p.cfg.model == "holt-winters" && p.cfg.season == 0 {
		faults = append(faults, errors.New("model=holt-winters needs a season: say after how long the load repeats, like season=24h"))
	}
	if s := p.cfg.season; s > 0 && s < 2*p.cfg.step {
		faults = append(faults, fmt.Errorf("season=%v must be at least two steps of %v", s, p.cfg.step))
	}
	if p.cfg.lookAhead > mostHorizons*p.cfg.step {
		faults = append(faults, fmt.Errorf("look-ahead=%v must be at most %d steps of %v", p.cfg.lookAhead, mostHorizons, p.cfg.step))
	}
	for range app.Services {
		p.of = append(p.of, phpaSeries{cfg: &p.cfg})
	}
	hpa.adjust = p.predict
	return p, errors.Join(faults...)
}

// mostHorizons bounds the work of a forecast.
const mostHorizons = 240

// Name of the policy.
func (*PHPA) Name() string { return "phpa" }

// predict raises what HPA calculated to what the forecast calls for.
func (p *PHPA) predict(now time.Time, s loadline.Situation, service, desired int, reason string) (int, string) {
	of := &p.of[service]
	seen := &s.Now().Services[service]
	if p.cfg.model == "traffic" {
		of.watchLoad(now, seen)
	} else {
		of.watch(now, float64(desired))
	}
	highest, known := of.forecast(now)
	if !known {
		return desired, reason
	}
	wanted := highest
	if p.cfg.model == "traffic" {
		if wanted, known = of.relation.replicas(highest, p.cfg.target*s.Allocation[service].Size.CPURequest); !known {
			return desired, reason
		}
	}
	predicted := int(min(math.Ceil(wanted-1e-9), 1<<30))
	if predicted <= desired {
		return desired, reason
	}
	if p.cfg.model == "traffic" {
		of.expects = loadline.LoadAhead{Rate: highest, Within: p.cfg.lookAhead}
		return predicted, reason + fmt.Sprintf("; forecast %.1f req/s within %v: %s", highest, p.cfg.lookAhead,
			loadline.DescribeReplicas(predicted))
	}
	return predicted, reason + fmt.Sprintf("; forecast within %v: %s", p.cfg.lookAhead, loadline.DescribeReplicas(predicted))
}

// Decide is HPA's, with the load that was forecast.
func (p *PHPA) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	for i := range p.of {
		p.of[i].expects = loadline.LoadAhead{}
	}
	proposal, err := p.HPA.Decide(now, s)
	for i := range proposal.Services {
		proposal.Services[i].Expects = p.of[proposal.Services[i].Service].expects
	}
	return proposal, err
}

// phpaTask is what a series is forecast for.
func (c *phpaConfig) task(season int) forecast.Task {
	t := forecast.Task{Levels: []float64{0.5}, Season: season}
	// From the last full bin; the next one is the present.
	for h := 1; h <= 1+int((c.lookAhead+c.step-1)/c.step); h++ {
		t.Horizons = append(t.Horizons, h)
	}
	return t
}

// seasonBins is the season in steps; 0 = none.
func (c *phpaConfig) seasonBins() int { return int(c.season / c.step) }
