package learners

import (
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/train"
)

// Trained is what is known of a model that was trained, DIR/KEY.json.
type Trained struct {
	Format  int     `json:"format"`
	Key     string  `json:"key"`
	Learner string  `json:"learner"`
	Setting Setting `json:"setting"`
	Steps   int     `json:"steps"`
	Seed    uint64  `json:"seed"`
	Sum     string  `json:"sha256"` // of the model file

	// Yardstick is the mean of DRPC's reward on episodes that nobody practised on,
	// by which all learners and settings are judged.
	Yardstick result.Number `json:"yardstick"`
	Exams     []Exam        `json:"exams"`
	Curve     []Point       `json:"curve"`
	// Episodes are the mean rewards of a step while exploring, by the learner's own
	// reward.
	Episodes   []result.Number `json:"episodes"`
	Parameters int             `json:"parameters"` // of one who decides

	// Of DRPC alone.
	Central          int           `json:"central_parameters,omitempty"` // of the teacher
	Plateau          int           `json:"plateau,omitempty"`            // steps at which it had levelled off; 0 = it had not
	Imitation        result.Number `json:"imitation"`
	Agreed           result.Number `json:"agreed"`
	BytesPerDecision result.Number `json:"bytes_per_decision"`

	path string
}

// Path of the model file.
func (t *Trained) Path() string { return t.path }

// Point of a learning curve.
type Point struct {
	Steps     int           `json:"steps"`
	Episodes  int           `json:"episodes"`
	Yardstick result.Number `json:"yardstick"` // mean of DRPC's reward, without exploring
}

// Exam is what somebody achieved on episodes that nobody practised on, by DRPC's
// reward.
type Exam struct {
	Who       string        `json:"who"`
	Yardstick result.Number `json:"yardstick"`
	QoS       result.Number `json:"qos"`
	CPU       result.Number `json:"cpu"` // mean utilisation of what was asked for
	Memory    result.Number `json:"memory"`
}

// pass a point of the curve, with the yardstick there.
func (t *Trained) pass(p train.Point, yardstick float64) {
	t.Curve = append(t.Curve, Point{p.Steps, p.Episodes, result.Number(yardstick)})
}

// sit an exam. The last one is what counts: that of whoever decides in the end.
func (t *Trained) sit(who string, yardstick, qos float64, r train.Result) {
	t.Yardstick = result.Number(yardstick)
	t.Exams = append(t.Exams, Exam{who, t.Yardstick, result.Number(qos), result.Number(r.CPU), result.Number(r.Memory)})
}
