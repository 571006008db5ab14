// Package practice is where DRPC's rivals learn: the same kind of world, the same
// number of steps and the same examinations as DRPC's own school, so that nobody has
// an advantage but by method.
//
// Reading order: world.go with begin.go (what is practised on), almanac.go (CoScal's
// forecasts), past.go (A-SARSA's), culprits.go (what FIRM's support vector machine
// learns from), practice.go (learning), prepare.go (who learns), record.go (what is
// told of it).
package practice
