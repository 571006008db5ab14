package bench

import (
	"fmt"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/workload"
)

// trainedFormat of the records. A model of another one is trained again.
const trainedFormat = 1

// modelIdentity is everything that determines a model. Names are not in it but the
// method's, and the program is: training has no version of its own.
type modelIdentity struct {
	Format  int
	Program string
	App     *loadline.App
	Load    *workload.Workload
	Learner string
	Rate    float64
	Steps   int
	Seed    uint64
}

func (t TrainingTask) key(program string) (string, error) {
	nameless := *t.Load
	nameless.Name = ""
	key, err := digest(modelIdentity{trainedFormat, program, t.App, &nameless, t.Method.Name, t.Setting.Rate, t.Steps, t.Seed})
	if err != nil {
		return "", fmt.Errorf("name a model of %s: %w", t.Method.Name, err)
	}
	return key, nil
}
