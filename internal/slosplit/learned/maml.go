package learned

import (
	"github.com/loadline/loadline/internal/nn"
)

// The meta learner of MSARS (section 4.1.2), which is MAML (Finn, Abbeel and Levine,
// 2017): weights from which a few steps of gradient descent on a new task lead far.
// Where it differs: the inner loop takes several steps, since that is how it is used
// afterwards; the outer step is Adam's.

// descend is the inner loop (eq. 8): from the network's present weights, one step for
// each batch. The weights on the way are kept, the first included; the network ends
// with the last.
func (l *learner) descend(of *lesson, batches [][]*example, rate float32) {
	for len(l.path) <= len(batches) {
		l.path = append(l.path, make([]float32, l.net.Size()))
	}
	copy(l.path[0], l.net.Params())
	for k, examples := range batches {
		_, g := l.gradient(of, examples)
		nn.AddScaled(l.net.Params(), -rate, g)
		copy(l.path[k+1], l.net.Params())
	}
}

// metaGradient is that of the loss on test after the inner loop, with respect to the
// weights before it (eq. 9, 10), valid until the next call. The chain rule through a
// step of the inner loop is a product with I - rate*H, H the Hessian of the training
// loss there; they are taken from the last step to the first, on a vector, so that no
// Hessian is ever made. firstOrder leaves them out. The network's weights are left as
// they were.
func (l *learner) metaGradient(of *lesson, batches [][]*example, test []*example, rate float32, firstOrder bool) (loss float64, gradient []float32, err error) {
	l.descend(of, batches, rate)
	loss, g := l.gradient(of, test)
	l.direction = sized(l.direction, len(g))
	copy(l.direction, g)
	for k := len(batches) - 1; k >= 0 && !firstOrder; k-- {
		copy(l.net.Params(), l.path[k])
		l.gradient(of, batches[k])
		bend, err := l.hessianTimes(l.direction)
		if err != nil {
			return 0, nil, err
		}
		nn.AddScaled(l.direction, -rate, bend)
	}
	copy(l.net.Params(), l.path[0])
	return loss, l.direction, nil
}
