package learners

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/workload"
)

// format of the records. Models of another one are trained again.
const format = 1

// identity is everything that determines a model. Names are excluded except the method's, and
// the program is included: training has no version of its own.
type identity struct {
	Format  int
	Program string
	App     *loadline.App
	Load    *workload.Workload
	Learner string
	Rate    float64
	Steps   int
	Seed    uint64
}

func (t Task) key(program string) (string, error) {
	nameless := *t.Load
	nameless.Name = ""
	text, err := json.Marshal(identity{format, program, t.App, &nameless, t.Method.Name, t.Setting.Rate, t.Steps, t.Seed})
	if err != nil {
		return "", fmt.Errorf("name a model of %s: %w", t.Method.Name, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12]), nil
}
