// Package msars is MSARS: the users' SLO is divided among the services, again whenever a
// profile, a size or the load changes, and TD3 scales each service to meet its part (Hu, Wen,
// Xu and Ye, "MSARS: A Meta-Learning and Reinforcement Learning Framework for SLO Resource
// Allocation and Adaptive Scaling for Microservices"). This package has observations, splits
// and actions; package trainer trains them.
//
// docs/msars.md lists the deviations from the paper and their reasons.
//
// Reading order: library.go (profiles at any size), way.go (splitters), count.go (request rates
// by kind), divide.go (the parts, and when to divide again), state.go (observations), scale.go
// (actions, replicas first), reward.go (equations 11 to 13), steer.go (all of these together,
// in production and in training), watch.go (the monitor), model.go (the model file), fit.go
// (which applications a model fits), policy.go (Algorithm 1).
package msars
