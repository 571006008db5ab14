// Package trainer is where DRPC's teacher and students practise: a whole
// application in the fluid engine, the two stages of Algorithm 1 over it, and what
// is handed out in the end.
//
// Reading order: world.go (what is practised on), stage1.go and distil.go (the
// teacher explores, students learn), stage2.go (students act, the teacher listens),
// school.go (Algorithm 1 around both), record.go (what is told of it), save.go (how
// it is interrupted and goes on), living.go with warm.go and mixed.go (a school whose
// students are at work elsewhere).
package trainer
