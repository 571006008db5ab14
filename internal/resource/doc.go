// Package resource converts a LoadLine resource into the vocabulary: an
// application with the user's objectives and bounds, the settings of the guards,
// and the allowed axes; and the result back into the resource's status. It does
// no I/O.
//
// Reading order: application.go (the whole), app.go (the application model, with
// or without a twin), axes.go (the allowed axes), settings.go (of the
// guards), model.go (the location of a model), status.go (the status).
package resource
