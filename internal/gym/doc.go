// Package gym is where agents practise: environments made of an application's
// model or of its history.
//
// Reading order: cluster.go (a simulated cluster, one service at a time), alone.go
// (how a service is taken out of its application), env1.go and env2.go
// (Scaling-Ops' two environments, from its equations), past.go (what another
// autoscaler did, as experience), scale.go (features made comparable).
package gym
