package guard

import (
	"fmt"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// Sense leaves unset what cannot be meant: what is not a number, below zero, or
// beyond anything real. It is the first of the guards, so that none of the others can make
// something presentable of nonsense: half of infinity is still a mistake.
type Sense struct{}

// Name of the guard in records.
func (Sense) Name() string { return "sense" }

// Check drops nonsense, axis by axis.
func (Sense) Check(_ time.Time, _ loadline.Situation, _ int, want loadline.Setting) (loadline.Setting, string) {
	var why reasons
	for a := range axes {
		if v, set := a.raw(&want); set && a.nonsense(v) {
			why = append(why, fmt.Sprintf("%v %v makes no sense and is left as it is", a, v))
			a.unset(&want)
		}
	}
	if len(why) == 0 {
		return want, ""
	}
	return want, strings.Join(why, "; ")
}
