package msars

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// Steering turns measurements into an agent's observation, and its action into a
// proposal, in training and in production alike. It is for one goroutine.
type Steering struct {
	divider *Divider
	encoder *encoder
	scaler  *drpc.Scaler
	reward  drpc.Reward

	desired  []loadline.Allocation
	before   []float64 // parts before the last division
	anew     bool      // they were divided anew in this decision
	proposal loadline.Proposal
}

// NewSteering makes the steering of an application.
func NewSteering(app *loadline.App, d *Divider, steps drpc.Steps, reward drpc.Reward) (*Steering, error) {
	e, err := newEncoder(app)
	if err != nil {
		return nil, err
	}
	return &Steering{divider: d, encoder: e, scaler: drpc.NewScaler(app, steps), reward: reward,
		before: make([]float64, len(app.Services))}, nil
}

// Width of the observation of all services.
func (w *Steering) Width() int { return len(w.encoder.locals) * w.encoder.width() }

// Begin starts an episode and discards earlier observations.
func (w *Steering) Begin() {
	w.divider.Forget()
	clear(w.encoder.locals)
	for i := range w.encoder.over {
		w.encoder.over[i] = math.NaN()
	}
}

// Split divides the SLO anew if something that the parts depend on has changed,
// and returns each service's part. It is valid until the next call.
func (w *Steering) Split(now time.Time, s loadline.Situation) ([]loadline.SLO, error) {
	w.remember()
	var err error
	if w.anew, err = w.divider.Update(now, s.Now(), s.InFlight); err != nil {
		return nil, err
	}
	return w.encoder.share(w.divider.Parts()), nil
}

// Observe observes all services, with their parts of the SLO in the situation. It returns the
// first metric that was not measured, and its service; that service keeps its last values.
func (w *Steering) Observe(s loadline.Situation) (absent string) {
	parts := w.divider.Parts()
	for i := range parts {
		if missing := w.encoder.observe(s, i, &parts[i]); missing != "" && absent == "" {
			absent = fmt.Sprintf("%s of %s", missing, s.App.Services[i].Name)
		}
	}
	return absent
}

// Fill appends the agent's observation.
func (w *Steering) Fill(s loadline.Situation, into []float32) []float32 {
	return w.encoder.fill(s, w.divider.Parts(), into)
}

// Score of the last window.
func (w *Steering) Score(s loadline.Situation) (drpc.Score, bool) { return w.score(s) }

// Propose turns actions into a proposal and their applied part. A vertical move divides again
// at once, for the next observation. The proposal is valid until the next call.
func (w *Steering) Propose(now time.Time, s loadline.Situation, actions []float32, explain bool) (loadline.Proposal, error) {
	w.proposal.Services = w.proposal.Services[:0]
	w.desired = append(w.desired[:0], s.InFlight...)
	w.scaler.Pressed = drpc.Pressed(s.App, s.Now())
	parts := w.divider.Parts()
	for i := range parts {
		of := actions[i*drpc.Axes:][:drpc.Axes]
		setting, done := scale(w.scaler, i, s.InFlight[i], drpc.MemoryOf(&s.Now().Services[i]), drpc.Action(of))
		copy(of, done[:])
		if setting = s.InFlight[i].Changes(setting); setting.Empty() {
			continue
		}
		w.desired[i] = s.InFlight[i].With(setting)
		p := loadline.ServiceProposal{Service: i, Setting: setting}
		if explain {
			p.Reason = w.reason(i, s.Now().Services[i].Rate, setting)
		}
		w.proposal.Services = append(w.proposal.Services, p)
	}
	w.remember()
	moved, err := w.divider.Redivide(now, w.desired)
	if err != nil {
		return loadline.Proposal{}, err
	}
	if moved && explain {
		w.explainSplit()
	}
	return w.proposal, nil
}

func (w *Steering) remember() {
	for i, p := range w.divider.Parts() {
		w.before[i] = p.Own
	}
}

// explainSplit adds the effect of a vertical move on the parts to the reasons of a proposal.
func (w *Steering) explainSplit() {
	why, _ := w.divider.Why()
	parts := w.divider.Parts()
	for i := range w.proposal.Services {
		p := &w.proposal.Services[i]
		now, was := parts[p.Service].Own, w.before[p.Service]
		if now != was {
			p.Reason += fmt.Sprintf("; split anew since %s: its part becomes %v", why, short(now))
		}
	}
}

// reason names the observation, the part of the SLO, what was chosen, and the split that the part
// comes from.
func (w *Steering) reason(service int, rate loadline.Sample, setting loadline.Setting) string {
	var b strings.Builder
	p := &w.divider.Parts()[service]
	b.WriteString(drpc.DescribeLocal(rate, drpc.LocalFeatures[:drpc.Locals-1], &w.encoder.locals[service]))
	length := p.Own
	if w.divider.way == None {
		length = p.WithCalls
	}
	if over := w.encoder.over[service]; !math.IsNaN(over) {
		fmt.Fprintf(&b, ", latency at %.0f %% of its part p%g %v of the SLO", 100*over, p.Percentile, short(length))
	}
	fmt.Fprintf(&b, ": the network chose %s; ", setting.Describe())
	switch {
	case p.WithCalls <= 0:
		b.WriteString("no SLO covers it")
	case w.divider.way == None:
		fmt.Fprintf(&b, "the part is %s, not split", p.Reason)
	default:
		why, at := w.divider.Why()
		fmt.Fprintf(&b, "the part is %v by %s (%s), ", short(p.Own), w.divider.way, p.Reason)
		switch {
		case !w.anew:
			fmt.Fprintf(&b, "as split at %s since %s", at.UTC().Format(time.TimeOnly), why)
		case p.Own != w.before[service]:
			fmt.Fprintf(&b, "split anew since %s", why)
		default:
			fmt.Fprintf(&b, "the same after a new split since %s", why)
		}
	}
	return b.String()
}

// seconds as a duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// short rounds to three digits.
func short(s float64) time.Duration {
	d := seconds(s)
	unit := time.Nanosecond
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
