package learned

import (
	"github.com/loadline/loadline/internal/nn"
)

// The meta learner of MSARS (section 4.1.2), which is MAML (Finn, Abbeel and Levine, 2017):
// weights from which a few steps of gradient descent adapt to a new task. Deviations:
//   - The inner loop takes several steps, since that is how it is used afterwards, with
//     momentum, and moves a context of each service beside the weights (context.go).
//   - Its rates and the momentum are learned too (tempo.go).
//   - The losses before and on the way count a little, as in MAML++ (Antoniou, Edwards
//     and Storkey, 2019), so that it is of use at every step.
//   - The outer step is Adam's.

// inner configures an inner loop.
type inner struct {
	rates []float32 // of the adapted parameters
	keep  float32   // momentum
}

// loop records an inner loop: the adapted parameters and the updates before each step and at
// the end.
type loop struct {
	path, moves         [][]float32
	direction, movement []float32
	slopes              []float32
}

func (l *loop) room(steps, size int) {
	for len(l.path) <= steps {
		l.path, l.moves = append(l.path, nil), append(l.moves, nil)
	}
	for k := range steps + 1 {
		l.path[k], l.moves[k] = sized(l.path[k], size), sized(l.moves[k], size)
	}
	l.direction, l.movement, l.slopes = sized(l.direction, size), sized(l.movement, size), sized(l.slopes, size)
}

// descend is the inner loop (eq. 8): from the present weights and a context of zeros,
// one step for each batch.
func (l *learner) descend(of *preparedTask, batches [][]*example, in inner) {
	l.meet(of.graph.Nodes())
	l.loop.room(len(batches), l.size())
	path, moves := l.loop.path, l.loop.moves
	l.save(path[0])
	clear(moves[0])
	for k, examples := range batches {
		_, g := l.gradient(of, examples)
		for i := range g {
			moves[k+1][i] = in.keep*moves[k][i] + g[i]
			path[k+1][i] = path[k][i] - in.rates[i]*moves[k+1][i]
		}
		l.set(path[k+1])
	}
}

// outer is the meta-gradient of a task.
type outer struct {
	loss     float64
	gradient []float32 // by the weights before the inner loop
	rates    []float32 // by the learning rates
	keep     float64   // by the momentum
}

// metaGradient is the gradient of the test losses along the inner loop (eq. 9, 10), with a
// weight for each number of steps from 0 on; its slices are valid until the next call. The
// chain rule through a step of the inner loop needs a product with the Hessian of the training
// loss; the products are computed on a vector from the last step to the first, so that no
// Hessian is formed. firstOrder omits them. The network's weights are restored.
func (l *learner) metaGradient(of *preparedTask, batches [][]*example, test []*example, weights []float32, in inner,
	firstOrder bool) (outer,
	error) {
	l.descend(of, batches, in)
	var found outer
	path, moves := l.loop.path, l.loop.moves
	direction, movement, slopes := l.loop.direction, l.loop.movement, l.loop.slopes
	clear(direction)
	clear(movement)
	clear(slopes)
	for k := len(batches); ; k-- {
		l.set(path[k])
		if w := weights[k]; w > 0 {
			loss, g := l.gradient(of, test)
			found.loss += float64(w) * loss
			nn.AddScaled(direction, w, g)
		}
		if k == 0 {
			found.gradient, found.rates = direction[:l.net.Size()], slopes
			return found, nil
		}
		for i, d := range direction {
			slopes[i] -= d * moves[k][i]
			movement[i] -= in.rates[i] * d
			found.keep += float64(movement[i]) * float64(moves[k-1][i])
		}
		if !firstOrder {
			l.set(path[k-1])
			l.gradient(of, batches[k-1])
			bend, err := l.hessianTimes(movement)
			if err != nil {
				return outer{}, err
			}
			nn.AddScaled(direction, 1, bend)
		}
		for i := range movement {
			movement[i] *= in.keep
		}
	}
}
