package history

// OtherKind names the pool of rare kinds of requests that enter at a service.
func OtherKind(service string) string { return "other at " + service }

// DirectKind names the requests to a service that no measured caller explains.
func DirectKind(service string) string { return "direct to " + service }

// IsKind reports whether a kind of request is the given operation of users at a service. The
// operation is its name, with the service if several have an operation of that name; if
// operations are not distinguished, it is the service.
func IsKind(kind, service, operation string) bool {
	if operation == "" {
		return kind == service
	}
	return kind == operation || kind == service+" "+operation
}
