// Package trainer trains DRPC's teacher and students: a whole application in the fluid
// engine, and the two stages of Algorithm 1 over it.
//
// Every episode in which the teacher learns is one of rl.Training: the teacher's own in
// stage 1, its students' in stage 2, and those of the warm-up. The other loops over the
// environment do not train: evaluate, compare and actFreely measure on episodes of fixed
// streams, and gather records examples for the students, who then learn from their
// buffers without an environment.
//
// Reading order: env.go (the environment), stage1.go and distil.go (the teacher explores
// in the training loop, students learn), stage2.go (students act, the teacher learns from
// them), trainer.go (Algorithm 1 around both), report.go (the record), save.go (how a
// training is interrupted and continued), live.go with warm.go and mixed.go (a trainer
// whose students act in a real cluster).
package trainer
