// Package msars is MSARS: the users' SLO is divided among the services, anew whenever
// a profile, a size or the load changes, and TD3 scales each service so that it keeps
// its part (Hu, Wen, Xu and Ye, "MSARS: A Meta-Learning and Reinforcement Learning
// Framework for SLO Resource Allocation and Adaptive Scaling for Microservices"). This
// package has observations, splits and actions; package trainer trains them.
//
// Where it deviates from the paper stands in docs/msars.md, with the reasons.
//
// Reading order: library.go (profiles at any size), way.go (splitters), count.go (how
// many requests of each kind there are), divide.go (the parts, and when they are divided
// anew), state.go (what is seen), scale.go (what is done, replicas first), reward.go
// (equations 11 to 13), steer.go (all of these together, in production and in training), watch.go
// (the monitor), model.go (all of it on disk), fit.go (which applications a model is
// for), policy.go (Algorithm 1).
package msars
