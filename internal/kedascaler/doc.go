// Package kedascaler answers KEDA's external scaler protocol, so that somebody
// who keeps KEDA adds one trigger and has his services follow Loadline.
//
// It decides nothing. A Source has the last good decision of each service, and
// every question is answered from it at once. What is not known, or known for
// too long, is an error and never a zero: a zero would send a service to
// nothing, an error lets KEDA's own fallback work.
//
// Reading order: source.go (what is asked, and of whom), board.go (a Source that
// the controller writes to), metadata.go (what a trigger says), overshoot.go
// (what the HPA makes of a value, and which value to publish), scaler.go (the
// answers), stream.go (those that are told unasked), options.go, server.go (the
// life of the server), calls.go (every call is bounded, counted and logged),
// tls.go (certificates, read again when they change). externalscaler/ has the
// protocol and what is generated from it.
package kedascaler
