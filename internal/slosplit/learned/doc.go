// Package learned splits SLOs by networks, as MSARS does: fnn and gcn are trained to
// convergence, meta is a GCN trained by MAML to adapt within a few steps of gradient descent.
// Their labels are parslo's results; they take microseconds where parslo takes milliseconds.
//
// A network divides the slack: what is left of the budget when every service is as fast as its
// bounds allow. So its shares always sum to the budget, and are never infeasible for a service;
// an SLO that no split meets is detected before the network runs.
//
// Reading order: features.go (inputs), network.go (the equations of
// the GCN), loss.go, context.go (parameters of one service), learner.go (gradients and
// Hessians), maml.go (inner and outer loop), tempo.go (learned learning rates), task.go
// (samples and tasks), train.go (until converged), model.go (the splitter and its file),
// adaptive.go (a splitter that adapts to each chain), online.go (online learning from a
// stream), evaluate.go (evaluation). The data: releases.go (releases, sizes, profiles),
// draw.go (loads and SLOs), verify.go (labels checked in the event engine), shop.go
// (Sock Shop).
package learned
