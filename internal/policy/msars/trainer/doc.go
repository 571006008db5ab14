// Package trainer trains MSARS' agent: a whole application in the fluid engine, with
// profiles and a split that were made for it beforehand.
//
// Reading order: trainer.go (all of it in order), profiles.go (what is measured in the
// event engine), factors.go (by how much parts may exceed the SLO), env.go (the
// environment), learn.go (TD3 in the training loop), report.go (the record).
package trainer
