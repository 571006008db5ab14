package learned

import "github.com/loadline/loadline/internal/nn"

// learner is a network with the memory to train it. It is for one goroutine.
type learner struct {
	net   *nn.Net
	ctx   *nn.Context
	flat  bool
	batch batch

	parts, dOut, tdOut []float32
	path               [][]float32 // weights along the inner loop
	direction          []float32
}

func newLearner(way string, net *nn.Net) *learner {
	return &learner{net: net, ctx: net.NewContext(), flat: way == "fnn"}
}

// forward runs the network over examples of one lesson and gives their loss.
func (l *learner) forward(of *lesson, examples []*example) float64 {
	l.batch.lay(l.flat, of.graph, examples)
	out := l.batch.forward(l.ctx)
	l.parts, l.dOut = sized(l.parts, l.batch.samples*l.batch.steps), sized(l.dOut, len(out))
	return l.batch.loss(l.parts, l.dOut, out)
}

// gradient of the loss at the network's weights, valid until the next call.
func (l *learner) gradient(of *lesson, examples []*example) (loss float64, gradient []float32) {
	loss = l.forward(of, examples)
	l.ctx.Backward(l.dOut, nn.ParamGradients)
	return loss, l.ctx.Gradient()
}

// hessianTimes a direction, for the loss of the last gradient.
func (l *learner) hessianTimes(direction []float32) ([]float32, error) {
	tOut, err := l.ctx.Tangent(direction)
	if err != nil {
		return nil, err
	}
	l.tdOut = sized(l.tdOut, len(tOut))
	l.batch.lossTangent(l.tdOut, l.parts, tOut)
	return l.ctx.HessianVector(l.tdOut), nil
}

// score is the loss of examples and the part of the slack that they misplace.
func (l *learner) score(of *lesson, examples []*example) (loss, misplaced float64) {
	loss = l.forward(of, examples)
	return loss, l.batch.misplaced(l.parts)
}
