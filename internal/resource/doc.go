// Package resource turns a LoadLine resource into the vocabulary: an application
// with the user's objectives and bounds, the guard's settings, and what may be
// moved; and what came of it back into the resource's status. It does no I/O.
//
// Reading order: application.go (all of it), app.go (the application's model, from
// a twin or without one), axes.go (what may be moved, as a guard), settings.go (the
// guard's), model.go (where a model is), status.go (the way back).
package resource
