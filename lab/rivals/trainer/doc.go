// Package trainer trains DRPC's rivals: in the same kind of environment, for the same
// number of steps and with the same evaluations as DRPC itself, so that they differ by
// method alone.
//
// Reading order: env.go (the environment), forecasts.go (what A-SARSA's forecasters are
// fitted to), culprits.go (what FIRM's support vector machine learns from), trainer.go
// (learning), prepare.go (agents and settings), report.go (the record).
package trainer
