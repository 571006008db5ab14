package learners

// LeastSteps of a task are so few that everything still happens once.
const LeastSteps = 40

// points that a learning curve has, about.
const points = 10

// every so many steps a learner is evaluated.
func every(steps int) int { return max(steps/points, 1) }

// exams are the episodes of an evaluation: fewer where there are few steps to learn
// from, so that evaluating does not take longer than learning.
func exams(steps, most int) int { return min(max(steps/2000, 2), most) }
