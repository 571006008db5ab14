package history

// OtherKind names the pool of rare kinds of requests that enter at a service.
func OtherKind(service string) string { return "other at " + service }

// DirectKind names the requests to a service that no measured caller explains.
func DirectKind(service string) string { return "direct to " + service }

// IsKind reports whether a kind of request is what users ask of a service by an
// operation. The operation names it, and the service too where several have an
// operation of that name; where operations are not distinguished, the service does.
func IsKind(kind, service, operation string) bool {
	if operation == "" {
		return kind == service
	}
	return kind == operation || kind == service+" "+operation
}
