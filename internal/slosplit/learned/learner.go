package learned

import "github.com/loadline/loadline/internal/nn"

// learner is a network with the context of one chain, and the memory to train both. The adapted
// parameters are the weights followed by the context. It is for one goroutine.
type learner struct {
	net     *nn.Net
	ctx     *nn.Context
	flat    bool
	traits  int
	context []float32 // step by step
	batch   batch
	out     []float32

	logits, parts, dLogits, dOut []float32
	tLogits, tdLogits, tdOut     []float32
	found, bend                  []float32
	loop                         loop
}

func newLearner(way string, traits int, net *nn.Net) *learner {
	return &learner{net: net, ctx: net.NewContext(), flat: way == "fnn", traits: traits}
}

// meet starts a chain of the given number of steps, with a context of zeros.
func (l *learner) meet(steps int) {
	l.context = sized(l.context, steps*l.traits)
	clear(l.context)
}

// size is the number of adapted parameters.
func (l *learner) size() int { return l.net.Size() + len(l.context) }

// save copies the adapted parameters.
func (l *learner) save(to []float32) { copy(to[copy(to, l.net.Params()):], l.context) }

// set restores the adapted parameters.
func (l *learner) set(from []float32) { copy(l.context, from[copy(l.net.Params(), from):]) }

// forward runs the network over examples of one task and returns their loss.
func (l *learner) forward(of *preparedTask, examples []*example) float64 {
	b := &l.batch
	b.fill(l.flat, l.traits, of.graph, examples)
	l.out = b.forward(l.ctx)
	n := b.samples * b.steps
	l.logits, l.parts, l.dLogits = sized(l.logits, n), sized(l.parts, n), sized(l.dLogits, n)
	b.combine(l.logits, l.out, l.context)
	return b.loss(l.parts, l.dLogits, l.logits)
}

// gradient of the loss by the adapted parameters, valid until the next call.
func (l *learner) gradient(of *preparedTask, examples []*example) (loss float64, gradient []float32) {
	loss = l.forward(of, examples)
	l.dOut, l.found = sized(l.dOut, len(l.out)), sized(l.found, l.size())
	l.batch.combineBack(l.dOut, l.found[l.net.Size():], l.dLogits, l.out, l.context)
	l.ctx.Backward(l.dOut, nn.ParamGradients)
	copy(l.found, l.ctx.Gradient())
	return loss, l.found
}

// hessianTimes a direction, for the loss of the last gradient; valid until the next
// call.
func (l *learner) hessianTimes(direction []float32) ([]float32, error) {
	weights := l.net.Size()
	tOut, err := l.ctx.Tangent(direction[:weights])
	if err != nil {
		return nil, err
	}
	b, tContext := &l.batch, direction[weights:]
	n := b.samples * b.steps
	l.tLogits, l.tdLogits, l.tdOut = sized(l.tLogits, n), sized(l.tdLogits, n), sized(l.tdOut, len(tOut))
	l.bend = sized(l.bend, l.size())
	b.combineTangent(l.tLogits, tOut, tContext, l.out, l.context)
	b.lossTangent(l.tdLogits, l.parts, l.tLogits)
	b.combineBackTangent(l.tdOut, l.bend[weights:], moved{l.dLogits, l.tdLogits}, moved{l.out, tOut}, moved{l.context, tContext})
	copy(l.bend, l.ctx.HessianVector(l.tdOut))
	return l.bend, nil
}

// score is the loss of examples and the misplaced part of their slack.
func (l *learner) score(of *preparedTask, examples []*example) (loss, misplaced float64) {
	loss = l.forward(of, examples)
	return loss, l.batch.misplaced(l.parts)
}
