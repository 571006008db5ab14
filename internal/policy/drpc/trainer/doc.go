// Package trainer trains DRPC's teacher and students: a whole application in the fluid
// engine, and the two stages of Algorithm 1 over it.
//
// Reading order: env.go (the environment), stage1.go and distil.go (the teacher explores
// in the training loop, students learn), stage2.go (students act, the teacher learns from
// them), trainer.go (Algorithm 1 around both), report.go (the record), save.go (how a
// training is interrupted and continued), live.go with warm.go and mixed.go (a trainer
// whose students act in a real cluster).
package trainer
