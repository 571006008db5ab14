package guard

import (
	"fmt"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// Sense drops values that are implausible: not a number, negative, or far beyond real
// sizes. It is the first guard, so that no other guard derives a valid value from an
// invalid one: half of infinity is still an error.
type Sense struct{}

// Name returns the name of the guard in records.
func (Sense) Name() string { return "sense" }

// Check drops implausible values, axis by axis.
func (Sense) Check(_ time.Time, _ loadline.Situation, _ int, want loadline.Setting) (loadline.Setting, string) {
	var why reasons
	for a := range axes {
		if v, set := a.raw(&want); set && a.implausible(v) {
			why = append(why, fmt.Sprintf("%v %v is implausible and is dropped", a, v))
			a.unset(&want)
		}
	}
	if len(why) == 0 {
		return want, ""
	}
	return want, strings.Join(why, "; ")
}
