// Package learners trains methods on an application and a load so that they can be
// compared: each gets the same number of environment steps and the same number of
// settings to choose from. Models are kept in a folder by a key of everything that they
// depend on: interrupted, the same call goes on from there.
//
// Reading order: learner.go (a training), trained.go (what is reported of it), folder.go
// with key.go and profiles.go (what is kept), tune.go (choosing a setting).
package learners
