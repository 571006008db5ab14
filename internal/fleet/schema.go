package fleet

import (
	"fmt"
	"strings"

	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// Schema identifies what weights are made for: the inputs of a student of this release in
// order, its layers, and its actions. Students of the same size may differ in it.
func Schema() string {
	var b strings.Builder
	b.WriteString(strings.Join(drpc.LocalFeatures[:], ","))
	for _, l := range nn.Student().Layers[1:] {
		fmt.Fprintf(&b, ">%s%d%s", l.Kind, l.Width, l.Activation)
	}
	return b.String() + ">" + strings.Join(drpc.AxisNames[:], ",")
}
