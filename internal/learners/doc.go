// Package learners is every method that can be trained on an application and its
// users' requests, behind one call, so that whoever compares them gives each the
// same number of environment steps and the same number of settings to choose from,
// and judges all by one reward. What was trained is kept in a folder by a key of
// everything that it depends on: interrupted, the same call goes on from there.
//
// Reading order: learner.go (who learns, and what is tried), budget.go with drpc.go,
// rivals.go and msars.go with exam.go (how each is taught, and MSARS measured),
// trained.go (what is told of it), folder.go with key.go and profiles.go (what is
// kept), tune.go (choosing a setting).
package learners
