package bench

import (
	"math"

	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/result"
)

// Trained is the record of a trained model, DIR/KEY.json.
type Trained struct {
	Format  int             `json:"format"`
	Key     string          `json:"key"`
	Learner string          `json:"learner"`
	Setting TrainingSetting `json:"setting"`
	Steps   int             `json:"steps"`
	Seed    uint64          `json:"seed"`
	Sum     string          `json:"sha256"` // of the model file

	// CommonReward is the mean of DRPC's reward on held-out episodes; null = the method is
	// not evaluated by that reward.
	CommonReward result.Number `json:"yardstick"`
	// Score is what the settings of one method are compared by: the common reward, or the
	// best evaluation by the method's own reward where there is none.
	Score       result.Number `json:"score"`
	Evaluations []Evaluation  `json:"exams"`
	Curve       []CurvePoint  `json:"curve"`
	// Episodes are the mean rewards of a step while exploring, by the method's own
	// reward.
	Episodes   []result.Number `json:"episodes"`
	Parameters int             `json:"parameters"` // of one network that decides

	// Of DRPC alone.
	Central          int           `json:"central_parameters,omitempty"` // of the teacher
	Plateau          int           `json:"plateau,omitempty"`            // steps at which it had converged; 0 = it had not
	Imitation        result.Number `json:"imitation"`
	Agreed           result.Number `json:"agreed"`
	BytesPerDecision result.Number `json:"bytes_per_decision"`

	path string
}

// Path of the model file.
func (t *Trained) Path() string { return t.path }

// CurvePoint of a learning curve.
type CurvePoint struct {
	Steps        int           `json:"steps"`
	Episodes     int           `json:"episodes"`
	CommonReward result.Number `json:"yardstick"` // mean of DRPC's reward, without exploring
}

// Evaluation is the result of a policy on held-out episodes, by DRPC's reward.
type Evaluation struct {
	Policy       string        `json:"who"`
	CommonReward result.Number `json:"yardstick"`
	QoS          result.Number `json:"qos"`
	CPU          result.Number `json:"cpu"` // mean utilisation of what was requested
	Memory       result.Number `json:"memory"`
}

// trainedOf a training; unknown numbers are NaN, null in JSON.
func trainedOf(t *policy.Trained) *Trained {
	r := &Trained{
		Parameters: t.Parameters, Central: t.Central, Plateau: t.Plateau, Imitation: result.Number(t.Imitation),
		Agreed:           result.Number(t.Agreed),
		BytesPerDecision: result.Number(t.BytesPerDecision), CommonReward: result.Number(math.NaN()), Score: result.Number(math.NaN()),
	}
	for _, c := range t.Curves {
		for _, p := range c.Points {
			r.Curve = append(r.Curve, CurvePoint{p.Steps, p.Episodes, result.Number(p.CommonReward)})
			if e := result.Number(p.Evaluation); !(e <= r.Score) && !math.IsNaN(float64(e)) {
				r.Score = e
			}
		}
	}
	for _, x := range t.Evaluations { // the model's own last
		r.CommonReward = result.Number(x.CommonReward)
		r.Score = r.CommonReward
		r.Evaluations = append(r.Evaluations, Evaluation{
			x.Policy, r.CommonReward, result.Number(x.QoS), result.Number(x.CPU), result.Number(x.Memory),
		})
	}
	for _, e := range t.Episodes {
		r.Episodes = append(r.Episodes, result.Number(e))
	}
	return r
}
