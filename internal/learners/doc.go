// Package learners trains methods on an application and a load for comparison: each gets the
// same number of environment steps and the same number of settings to choose from. Models are
// stored in a folder by a key of everything that they depend on: if interrupted, the same call
// resumes.
//
// Reading order: learner.go (a training), trained.go (its record), folder.go with key.go and
// profiles.go (storage), tune.go (choosing a setting).
package learners
