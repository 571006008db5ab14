package realapp

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/loadline/loadline"
)

// bounds of the histograms' buckets in seconds: finer than the usual ones around SLOs of 50 ms to 2 s.
var bounds = []float64{0.001, 0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5,
	0.75, 1, 1.5, 2, 3, 5, 10}

type histogram struct {
	buckets []uint64 // the last has what is above all bounds
	sum     float64
	count   uint64
}

func (h *histogram) add(d time.Duration) {
	if h.buckets == nil {
		h.buckets = make([]uint64, len(bounds)+1)
	}
	at := 0
	for at < len(bounds) && d.Seconds() > bounds[at] {
		at++
	}
	h.buckets[at]++
	h.sum += d.Seconds()
	h.count++
}

type servedKey struct{ kind, code int }

type calledKey struct {
	service int
	ok      bool
}

// exposition is what the server has counted, by the names of OpenTelemetry's semantic conventions as
// Prometheus has them.
type exposition struct {
	app    *loadline.App
	lock   sync.Mutex
	server map[servedKey]*histogram
	client map[calledKey]*histogram
}

func newExposition(app *loadline.App) *exposition {
	return &exposition{app: app, server: map[servedKey]*histogram{}, client: map[calledKey]*histogram{}}
}

func (e *exposition) served(kind, code int, d time.Duration) {
	count(e, e.server, servedKey{kind, code}, d)
}

func (e *exposition) called(service int, ok bool, d time.Duration) {
	count(e, e.client, calledKey{service, ok}, d)
}

func count[K comparable](e *exposition, in map[K]*histogram, at K, d time.Duration) {
	e.lock.Lock()
	defer e.lock.Unlock()
	if in[at] == nil {
		in[at] = &histogram{}
	}
	in[at].add(d)
}

// write the exposition in Prometheus' text format.
func (e *exposition) write(w io.Writer, g *gate) {
	e.lock.Lock()
	defer e.lock.Unlock()
	var b strings.Builder
	const server, client = "http_server_request_duration_seconds", "http_client_request_duration_seconds"
	fmt.Fprintf(&b, "# HELP %s Duration of requests.\n# TYPE %s histogram\n", server, server)
	for kind := range e.app.Kinds {
		for key, h := range e.server {
			if key.kind == kind {
				h.write(&b, server, fmt.Sprintf("http_route=%q,http_response_status_code=\"%d\"", "/"+e.app.Kinds[kind].Name, key.code))
			}
		}
	}
	fmt.Fprintf(&b, "# HELP %s Duration of calls.\n# TYPE %s histogram\n", client, client)
	for service := range e.app.Services {
		for key, h := range e.client {
			code := "200"
			if !key.ok {
				code = "500"
			}
			if key.service == service {
				h.write(&b, client, fmt.Sprintf("server_address=%q,http_response_status_code=%q", e.app.Services[service].Name, code))
			}
		}
	}
	fmt.Fprintf(&b, "# HELP http_server_active_requests Requests at work.\n# TYPE http_server_active_requests gauge\n"+
		"http_server_active_requests %d\n", g.inside.Load())
	fmt.Fprintf(&b, "# HELP http_server_queued_requests Requests that wait for a worker.\n# TYPE http_server_queued_requests gauge\n"+
		"http_server_queued_requests %d\n", g.waiting.Load())
	_, _ = io.WriteString(w, b.String()) // the client may be gone
}

func (h *histogram) write(b *strings.Builder, name, labels string) {
	sum := uint64(0)
	for i, n := range h.buckets {
		le := "+Inf"
		if i < len(bounds) {
			le = fmt.Sprint(bounds[i])
		}
		sum += n
		fmt.Fprintf(b, "%s_bucket{%s,le=%q} %d\n", name, labels, le, sum)
	}
	fmt.Fprintf(b, "%s_sum{%s} %g\n%s_count{%s} %d\n", name, labels, h.sum, name, labels, h.count)
}
