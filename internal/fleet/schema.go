package fleet

import (
	"fmt"
	"strings"

	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// Schema is what weights must be made for to mean anything to a student of this
// release: what it sees, in order, through which layers, and what it does. Two
// students of the same size may differ in it.
func Schema() string {
	var b strings.Builder
	b.WriteString(strings.Join(drpc.LocalFeatures[:], ","))
	for _, l := range nn.Student().Layers[1:] {
		fmt.Fprintf(&b, ">%s%d%s", l.Kind, l.Width, l.Activation)
	}
	return b.String() + ">" + strings.Join(drpc.AxisNames[:], ",")
}
