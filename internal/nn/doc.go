// Package nn is small neural networks that train quickly on one core.
//
// A [Design] describes the layers; [Design.Build] gives it seeded weights and makes a [Net].
// All weights of a Net are in one slice, so that an optimiser step, a soft target update, a
// copy or a file is a single pass over [Net.Params]. A [Context] is one user's workspace: it
// runs a Net forward and backward over batches, and allocates only when a batch is larger than
// any before. Many contexts may run forward on one Net at the same time, each in its own
// goroutine; nothing may then change the weights.
//
//	net, err := nn.MLP{Inputs: []int{8}, Hidden: []int{64, 64}, Outputs: 3}.Design().Build(nn.HeUniform, rng)
//	ctx, adam := net.NewContext(), nn.NewAdam(net.Size(), nn.AdamConfig{Rate: 1e-3})
//	q := ctx.Forward(64, states)                       // 64 rows of 3
//	loss := nn.Huber(1).MeanAt(dq, q, actions, targets, nil)
//	ctx.Backward(dq, nn.ParamGradients)
//	nn.ClipNorm(ctx.Gradient(), 10)
//	adam.Step(net.Params(), ctx.Gradient())
//	nn.SoftUpdate(target.Params(), net.Params(), 0.005)
//
// One observation is a batch of one: ctx.Forward(1, state).
//
// Batches are rows, sample by sample. Where a sample has several items, the time
// steps of a sequence or the nodes of a graph, rows go item by item: first the
// first item of every sample, then the second. Each step of a GRU is then one
// block of rows, and a graph convolution over a whole batch is one product.
//
// Shapes that do not match are programming errors and panic; external data (designs, tensors of
// a file) is checked, and every fault is reported.
//
// Reading order: design.go and mlp.go (descriptions), net.go (weights), context.go (forward and
// backward), dense.go (the layer to read first), then the other layers: norm.go, gru.go,
// linear.go (without weights), softmax.go. Training: loss.go, pinball.go, adam.go. Second
// order: tangent.go, with each layer's part beside the layer. The arithmetic is in package
// gemm.
package nn
