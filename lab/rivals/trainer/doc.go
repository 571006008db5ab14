// Package trainer is where DRPC's rivals learn: the same kind of world, the same
// number of steps and the same examinations as DRPC's own school, so that nobody has
// an advantage but by method.
//
// Reading order: world.go (what is practised on), past.go (A-SARSA's forecasts),
// culprits.go (what FIRM's support vector machine learns from), practice.go (learning),
// prepare.go (who learns), record.go (what is told of it).
package trainer
