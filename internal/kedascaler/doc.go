// Package kedascaler implements KEDA's external scaler protocol, so that KEDA
// users can have their services follow Loadline by adding one trigger.
//
// It makes no decisions. A Source has the last good decision of each service, and
// every request is answered from it immediately. An unknown or outdated decision,
// and one that Loadline itself would not apply, is an error and never a zero: a
// zero would scale a service to zero, an error triggers KEDA's own fallback.
//
// Reading order: source.go (requests and where answers come from), board.go (a
// Source that the controller writes to), metadata.go (a trigger's metadata),
// tolerance.go (how the HPA interprets a value, and which value to publish),
// scaler.go (the answers), stream.go (pushed answers), options.go, server.go (the
// life cycle of the server), calls.go (every call is bounded, counted and
// logged), tls.go (certificates, reloaded when they change). externalscaler/ has
// the protocol and the generated code.
package kedascaler
