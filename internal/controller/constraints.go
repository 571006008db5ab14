package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loadline/loadline"
)

// constraintsEvery is how often the constraints of the namespace are read: people change them rarely,
// and what others use of a quota matters at the next raise.
const constraintsEvery = time.Minute

// constrained reads what the namespace allows: kube.Workloads.
type constrained interface {
	Constraints(ctx context.Context) (loadline.Constraints, error)
}

// constraints of the namespace as last read.
type constraints struct {
	known loadline.Constraints
	read  time.Time
	err   error // what of them is not known
}

// constrain reads the constraints again if they are old. What this process may not read is not known;
// after another error those that were known before stay.
func (c *cluster) constrain(ctx context.Context) {
	from, ok := c.work.(constrained)
	now := c.now()
	if !ok || !c.constraints.read.IsZero() && now.Sub(c.constraints.read) < constraintsEvery {
		return
	}
	known, err := from.Constraints(ctx)
	if err == nil || apierrors.IsForbidden(err) || c.constraints.read.IsZero() {
		c.constraints.known = known
	}
	c.constraints.read, c.constraints.err = now, err
}
