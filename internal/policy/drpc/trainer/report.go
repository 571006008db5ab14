package trainer

import (
	"fmt"
	"strings"

	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/train"
)

// Point of the teacher's learning curve.
type Point struct {
	train.Point
	Imitation float64 `json:"imitation"` // mean squared difference of students to teacher, over services
}

// Event is a change of stage, with its trigger and its outcome.
type Event struct {
	Steps   int           `json:"steps"` // of both stages, so far
	What    string        `json:"what"`
	Reasons []drpc.Reason `json:"reasons,omitempty"`
	Before  float64       `json:"before"` // mean reward of a step before, of the teacher in stage 1
	After   float64       `json:"after"`  // mean reward of the students after retraining
}

func (e Event) String() string {
	why := make([]string, len(e.Reasons))
	for i, r := range e.Reasons {
		why[i] = r.String()
	}
	text := fmt.Sprintf("after %d steps: %s", e.Steps, e.What)
	if len(why) > 0 {
		text += " (" + strings.Join(why, "; ") + ")"
	}
	return fmt.Sprintf("%s; reward %.3f before, %.3f after", text, e.Before, e.After)
}

// Imitation is how closely a student matches its teacher.
type Imitation struct {
	Service string  `json:"service"`
	Error   float64 `json:"error"`  // mean squared difference of actions (eq. 9)
	Agreed  float64 `json:"agreed"` // share of actions with the same effect after the dead zone
}

// Report is the record of a training.
type Report struct {
	Curve      []Point               `json:"curve"`
	Episodes   []float64             `json:"episodes"` // mean reward of a step, episode by episode, while exploring
	Events     []Event               `json:"events"`
	Plateau    int                   `json:"plateau"` // steps at which the teacher had levelled off; 0 = it had not
	Results    []train.Result        `json:"results"`
	Imitation  []Imitation           `json:"imitation"`
	Forecasts  []train.ForecastError `json:"forecasts"`
	Parameters Parameters            `json:"parameters"`
	Carried    Carried               `json:"carried"`
}

// Parameters counts the parameters of the deciding networks.
type Parameters struct {
	Teacher int `json:"teacher"`
	Student int `json:"student"`
}

// Carried counts the messages between students and teacher in stage 2.
type Carried struct {
	Decisions uint64 `json:"decisions"`
	Bytes     uint64 `json:"bytes"`
	Lost      int    `json:"lost"` // dropped without an acknowledgement
}

// MeanImitation is the mean over services.
func MeanImitation(all []Imitation) (err, agreed float64) {
	for _, i := range all {
		err += i.Error / float64(len(all))
		agreed += i.Agreed / float64(len(all))
	}
	return err, agreed
}
