package nn

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/nn/gemm"
)

var measuredPeak = sync.OnceValue(func() float64 { return gemm.MeasurePeak(time.Now) })

// report prints the rate of arithmetic and the core's peak. Only matrix products count as
// arithmetic.
func report(b *testing.B, flops float64, perSecond string) {
	seconds := b.Elapsed().Seconds()
	rate := flops * float64(b.N) / seconds
	b.ReportMetric(rate/1e9, "GFLOP/s")
	b.ReportMetric(100*rate/measuredPeak(), "%peak")
	if perSecond != "" {
		b.ReportMetric(float64(b.N)/seconds, perSecond)
	}
	b.ReportAllocs()
}

// timeUpdates repeats an update whose contexts have allocated their memory.
func timeUpdates(b *testing.B, update func()) {
	for range 3 {
		update()
	}
	for b.Loop() {
		update()
	}
}

// flops of the dense layers: a forward pass over a batch, the gradient of the
// weights, and the gradients that flow back between layers (the first layer's
// inputs need none).
func flops(n *Net, batch int) (forward, weights, between float64) {
	first := true
	for _, l := range n.layers {
		if d, ok := l.(*dense); ok {
			f := 2 * float64(batch*d.weight.size())
			forward, weights = forward+f, weights+f
			if !first {
				between += f
			}
			first = false
		}
	}
	return forward, weights, between
}

func mustBuild(d Design) *Net {
	n, err := d.Build(HeUniform, newRand(1))
	if err != nil {
		panic(err)
	}
	return n
}

// BenchmarkDQNUpdate is one update of DQN: both networks forward, the loss of
// the actions taken, backward, Adam.
func BenchmarkDQNUpdate(b *testing.B) {
	const batch = 64
	net := mustBuild(MLP{Inputs: []int{8}, Hidden: []int{64, 64}, Outputs: 3}.Design())
	target := net.Clone()
	online, offline, adam := net.NewContext(), target.NewContext(), NewAdam(net.Size(), AdamConfig{Rate: 1e-4})
	rng := newRand(2)
	states, next, rewards := randoms(rng, batch*8), randoms(rng, batch*8), randoms(rng, batch)
	actions, goals, dq := make([]int, batch), make([]float32, batch), make([]float32, batch*3)
	for i := range actions {
		actions[i] = rng.IntN(3)
	}
	huber := Huber(1)
	update := func() {
		later := offline.Forward(batch, next)
		for i := range goals {
			goals[i] = rewards[i] + 0.99*max(later[3*i], later[3*i+1], later[3*i+2])
		}
		q := online.Forward(batch, states)
		huber.MeanAt(dq, q, actions, goals, nil)
		online.Backward(dq, ParamGradients)
		adam.Step(net.Params(), online.Gradient())
	}
	timeUpdates(b, update)
	f, w, g := flops(net, batch)
	report(b, 2*f+w+g, "updates/s")
}

// td3 is the arithmetic of one TD3 step with the actor updated every second
// time, without the replay buffer.
type td3 struct {
	batch                                       int
	state, next, action, reward, goal, dq, ones []float32
	actor, actorTarget                          *Net
	critics, criticTargets                      [2]*Net
	actorRun, actorTargetRun                    *Context
	criticRuns, criticTargetRuns                [2]*Context
	actorAdam                                   *Adam
	criticAdams                                 [2]*Adam
	steps                                       int
}

func newTD3(batch, states, actions, hidden int) *td3 {
	a := mustBuild(MLP{Inputs: []int{states}, Hidden: []int{hidden, hidden}, Outputs: actions, Output: Tanh}.Design())
	rng := newRand(3)
	t := &td3{
		batch: batch, actor: a, actorTarget: a.Clone(),
		state: randoms(rng, batch*states), next: randoms(rng, batch*states), action: randoms(rng, batch*actions),
		reward: randoms(rng, batch), goal: make([]float32, batch), dq: make([]float32, batch), ones: make([]float32, batch),
	}
	for i := range t.ones {
		t.ones[i] = -1 / float32(batch)
	}
	t.actorRun, t.actorTargetRun, t.actorAdam = a.NewContext(), t.actorTarget.NewContext(), NewAdam(a.Size(), AdamConfig{Rate: 3e-4})
	for i := range 2 {
		t.critics[i] = mustBuild(MLP{Inputs: []int{states, actions}, Hidden: []int{hidden, hidden}, Outputs: 1}.Design())
		t.criticTargets[i] = t.critics[i].Clone()
		t.criticRuns[i], t.criticTargetRuns[i] = t.critics[i].NewContext(), t.criticTargets[i].NewContext()
		t.criticAdams[i] = NewAdam(t.critics[i].Size(), AdamConfig{Rate: 3e-4})
	}
	return t
}

func (t *td3) step() {
	action := t.actorTargetRun.Forward(t.batch, t.next)
	q0, q1 := t.criticTargetRuns[0].Forward(t.batch, t.next, action), t.criticTargetRuns[1].Forward(t.batch, t.next, action)
	for i := range t.goal {
		t.goal[i] = t.reward[i] + 0.99*min(q0[i], q1[i])
	}
	for i, c := range t.criticRuns {
		Loss(MSE).Mean(t.dq, c.Forward(t.batch, t.state, t.action), t.goal)
		c.Backward(t.dq, ParamGradients)
		t.criticAdams[i].Step(t.critics[i].Params(), c.Gradient())
	}
	if t.steps++; t.steps%2 > 0 {
		return
	}
	t.criticRuns[0].Forward(t.batch, t.state, t.actorRun.Forward(t.batch, t.state))
	t.criticRuns[0].Backward(t.ones, InputGradients)
	t.actorRun.Backward(t.criticRuns[0].InputGradient(1), ParamGradients)
	t.actorAdam.Step(t.actor.Params(), t.actorRun.Gradient())
	SoftUpdate(t.actorTarget.Params(), t.actor.Params(), 0.005)
	for i := range 2 {
		SoftUpdate(t.criticTargets[i].Params(), t.critics[i].Params(), 0.005)
	}
}

func (t *td3) flops() float64 {
	af, aw, ag := flops(t.actor, t.batch)
	cf, cw, cg := flops(t.critics[0], t.batch)
	critics := af + 4*cf + 2*(cw+cg)
	toInputs := cg + (cf - cg) // gradients of the first layer's inputs are needed too
	return critics + (af+cf+toInputs+aw+ag)/2
}

func BenchmarkTD3Update(b *testing.B) {
	for _, hidden := range []int{64, 256} {
		b.Run(fmt.Sprintf("%dx%d", hidden, hidden), func(b *testing.B) {
			t := newTD3(256, 8, 3, hidden)
			timeUpdates(b, t.step)
			report(b, t.flops(), "updates/s")
		})
	}
}

func forecaster(features, hidden, outputs int) Design {
	var d Design
	d.Dense(outputs, Identity, d.Last(d.GRU(hidden, d.Sequence("window", features))))
	return d
}

// BenchmarkGRUUpdate is a training step of a forecaster with quantiles.
func BenchmarkGRUUpdate(b *testing.B) {
	const batch, steps, hidden, features = 32, 24, 32, 4
	net := mustBuild(forecaster(features, hidden, 15))
	c, adam, rng := net.NewContext(), NewAdam(net.Size(), AdamConfig{}), newRand(4)
	window, target, dOut := randoms(rng, steps*batch*features), randoms(rng, batch*5), make([]float32, batch*15)
	timeUpdates(b, func() {
		Pinball(dOut, c.Forward(batch, window), target, []float32{0.1, 0.5, 0.9})
		c.Backward(dOut, ParamGradients)
		ClipNorm(c.Gradient(), 1)
		adam.Step(net.Params(), c.Gradient())
	})
	// Forward, weights' gradients, and the recurrent part of the way back.
	perStep := 2.0 * batch * 3 * hidden * (2*(features+hidden) + hidden)
	f, w, g := flops(net, batch)
	report(b, steps*perStep+f+w+g+2*batch*15*hidden, "updates/s")
	b.ReportMetric(float64(b.N)*steps*batch/b.Elapsed().Seconds(), "steps/s")
}

func BenchmarkInference(b *testing.B) {
	for _, m := range []struct {
		name   string
		design Design
		inputs int
		batch  int
	}{
		{"8-64-64-3/one", MLP{Inputs: []int{8}, Hidden: []int{64, 64}, Outputs: 3}.Design(), 8, 1},
		{"8-64-64-3/256", MLP{Inputs: []int{8}, Hidden: []int{64, 64}, Outputs: 3}.Design(), 8, 256},
		{"student/one", Student(), 5, 1},
		{"student/256", Student(), 5, 256},
	} {
		b.Run(m.name, func(b *testing.B) {
			net := mustBuild(m.design)
			c, x := net.NewContext(), randoms(newRand(5), m.batch*m.inputs)
			for range 3 { // allocates memory and prepares single rows
				c.Forward(m.batch, x)
			}
			for b.Loop() {
				c.Forward(m.batch, x)
			}
			f, _, _ := flops(net, m.batch)
			report(b, f, "")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(m.batch), "ns/row")
		})
	}
}

// BenchmarkHessianVector is a gradient and a Hessian-vector product of a graph
// convolution network, as second-order MAML needs per task.
func BenchmarkHessianVector(b *testing.B) {
	var d Design
	nodes, slo := d.Nodes("profile", 2), d.Input("slo", 1)
	h := d.GraphConv(32, ReLU, d.GraphConv(32, ReLU, nodes))
	d.Dense(1, Identity, h, d.Spread(d.Dense(8, ReLU, slo)))
	net := mustBuild(d)
	g, _ := NewGraph(8, [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}})
	c, rng := net.NewContext(), newRand(6)
	c.SetGraph(g)
	const batch = 16
	x, y, target, dOut, v := randoms(rng, 8*batch*2), randoms(rng, batch), randoms(rng, 8*batch), make([]float32, 8*batch), randoms(rng,
		net.Size())
	mse := Loss(MSE)
	timeUpdates(b, func() {
		out := c.Forward(batch, x, y)
		mse.Mean(dOut, out, target)
		c.Backward(dOut, ParamGradients)
		tangent, _ := c.Tangent(v)
		mse.MeanTangent(dOut, out, target, tangent)
		c.HessianVector(dOut)
	})
	b.ReportAllocs()
}
