// Package console serves what Loadline does to people and programs: the applications, their
// services, the last hours and the decisions with their reasons, as JSON over HTTPS, and
// live updates as server-sent events; and the page that shows them (package page). It reads only.
//
// Every request needs a token of the cluster. The API server says whose it is
// (TokenReview) and which namespaces that user may read LoadLines of
// (SubjectAccessReview); of the others nothing is said, not even that there is something.
// There are no cookies, so no page of another site can act for a user.
//
// The process that holds the lease has the record of decisions. A standby passes requests on
// to it, and answers from the status of the resources while it cannot.
//
// Reading order: server.go (the listener and its limits), access.go (who may read what),
// routes.go (the requests), application.go (what is said of an application), past.go (the
// last hours in memory, from the decision log and from each pass), forecast.go (what was forecast for
// each of their points), decision.go (one decision and what then came), models.go (what runs, what it
// was judged beside, and where it comes from), events.go (live updates), standby.go (passing requests on).
package console
