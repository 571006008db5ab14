// Package trainer is where MSARS' agent learns: a whole application in the fluid engine,
// with profiles and a split that were made for it beforehand.
//
// Reading order: school.go (all of it in order), profiles.go (what is measured in the
// event engine), factors.go (by how much parts may exceed the SLO), world.go (what is
// practised on), learn.go (TD3), record.go (what is told of it).
package trainer
