// Package v1alpha1 is the custom resource LoadLine: what a platform engineer
// says of an application, and what Loadline says back.
//
// Comments on fields are what kubectl explain prints, and markers are what the
// API server checks; make generate-crd turns both into deploy/crd. Numbers that
// are not whole are written as strings ("0.85"), because JSON has no exact ones.
//
// Reading order: loadline.go (the resource), objective.go, prometheus.go,
// policy.go, service.go and guard.go (what is asked for), status.go and
// condition.go (what is told), pause.go (annotations), number.go and duration.go
// (how figures are written), register.go.
//
// +kubebuilder:object:generate=true
// +groupName=loadline.dev
package v1alpha1
