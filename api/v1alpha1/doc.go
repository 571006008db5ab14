// Package v1alpha1 defines the custom resources LoadLine, the objectives and bounds
// of an application and its status, and LoadLineClass, what the applications of a
// cluster share.
//
// Comments on fields are printed by kubectl explain, and markers are validated by
// the API server; make generate-crd generates deploy/crd from both. Decimal
// numbers are written as strings ("0.85"), because JSON numbers are not exact.
//
// Reading order: loadline.go (the resource), objective.go, prometheus.go,
// policy.go, service.go, event.go and guard.go (the spec), status.go and condition.go
// (the status), class.go (the class), pause.go (annotations), number.go and
// duration.go (formats of values), register.go.
//
// +kubebuilder:object:generate=true
// +groupName=loadline.dev
package v1alpha1
