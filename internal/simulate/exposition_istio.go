package simulate

import (
	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// Where users' requests come from, as Istio names it.
const (
	gateway          = "istio-ingressgateway"
	gatewayNamespace = "istio-system"
)

const (
	helpRequests = "Requests that ended, by both proxies."
	helpDuration = "Time of requests in milliseconds. By the destination's proxy: of the callee; where several call it, each caller " +
		"has its share of the callee's buckets. By the source's proxy: sum and count only."
)

// arrivalSeen is what one caller has sent to a service so far, and its share of
// the service's histogram.
type arrivalSeen struct {
	sent          float64 // by the caller's count
	ended, failed float64 // by the callee's
	good, sum     float64
	buckets       []float64
}

// callers of a service: services by index, and -1 for the users.
func (r *Exposition) callers(service int) []int {
	var callers []int
	if r.entered[service] {
		callers = append(callers, -1)
	}
	for _, e := range r.edges {
		if e.To == service {
			callers = append(callers, e.From)
		}
	}
	return callers
}

// istio shows what the proxies count: the callee's proxy all that arrives, the
// caller's proxy what it sends.
func (r *Exposition) istio(reading *sim.Reading) {
	requests := r.family("istio_requests", "counter", helpRequests)
	duration := r.family("istio_request_duration_milliseconds", "histogram", helpDuration)
	for s := range r.app.Services {
		r.share(s, reading)
		for i, from := range r.callers(s) {
			a := &r.services[s].arrivals[i]
			ok, bad := r.istioLabels("destination", from, s, "200"), r.istioLabels("destination", from, s, "503")
			r.add(requests, "_total", a.good, ok...)
			if a.failed > 0 {
				r.add(requests, "_total", a.failed, bad...)
			}
			for b, n := range a.buckets {
				r.add(duration, "_bucket", n, append(ok[:len(ok):len(ok)], "le", bucketLabel(b))...)
			}
			r.add(duration, "_sum", a.sum*1000, ok...)
			r.add(duration, "_count", a.buckets[len(istioBuckets)], ok...)
		}
	}
	if len(reading.Calls) != len(r.edges) {
		return
	}
	for i, e := range r.edges {
		c := &reading.Calls[i]
		ok, bad := r.istioLabels("source", e.From, e.To, "200"), r.istioLabels("source", e.From, e.To, "503")
		r.add(requests, "_total", c.Count-c.Failed, ok...)
		if c.Failed > 0 {
			r.add(requests, "_total", c.Failed, bad...)
		}
		r.add(duration, "_bucket", c.Count, append(ok[:len(ok):len(ok)], "le", "+Inf")...)
		r.add(duration, "_sum", c.SumSeconds*1000, ok...)
		r.add(duration, "_count", c.Count, ok...)
	}
}

// share divides what a service counted since the last scrape among its callers.
// The engines count calls by edge but latencies by service, so a caller gets
// its share of the callee's histogram; the sum over callers is exact.
func (r *Exposition) share(service int, reading *sim.Reading) {
	seen := &r.services[service]
	now := &reading.Services[service]
	callers := r.callers(service)
	if seen.buckets == nil {
		seen.buckets = make([]float64, len(istioBuckets)+1)
		for i := range seen.arrivals {
			seen.arrivals[i].buckets = make([]float64, len(istioBuckets)+1)
		}
	}
	buckets := cumulative(&now.Latency, seen.buckets, seen.count)
	ended, failed := 0.0, 0.0
	for i := range callers {
		ended += seen.arrivals[i].ended
		failed += seen.arrivals[i].failed
	}
	weights := r.weights(service, callers, reading)
	for i := range callers {
		a, w := &seen.arrivals[i], weights[i]
		a.ended += w * max(0, now.Ended-ended)
		a.failed += w * max(0, now.Of[loadline.ServiceErrors]-failed)
		a.good = max(a.good, a.ended-a.failed)
		a.sum += w * max(0, now.Latency.SumSeconds-seen.sum)
		for b := range a.buckets {
			a.buckets[b] += w * max(0, buckets[b]-seen.buckets[b])
		}
	}
	for b := range buckets {
		seen.buckets[b] = max(seen.buckets[b], buckets[b])
	}
	seen.sum, seen.count = now.Latency.SumSeconds, now.Latency.Count
}

// weights are the shares of a service's callers in what has ended since the
// last scrape.
func (r *Exposition) weights(service int, callers []int, reading *sim.Reading) []float64 {
	weights := make([]float64, len(callers))
	if len(callers) == 1 {
		weights[0] = 1
		return weights
	}
	total := 0.0
	for i, from := range callers {
		sent := r.sent(from, service, reading)
		seen := &r.services[service].arrivals[i]
		weights[i] = max(0, sent-seen.sent)
		seen.sent = sent
		total += weights[i]
	}
	for i := range weights {
		if total > 0 {
			weights[i] /= total
		} else {
			weights[i] = 1 / float64(len(weights))
		}
	}
	return weights
}

// sent is how many requests of a caller to a service have ended so far.
func (r *Exposition) sent(from, to int, reading *sim.Reading) float64 {
	if from >= 0 {
		if e := sim.EdgeIndex(r.edges, sim.Edge{From: from, To: to}); e >= 0 && e < len(reading.Calls) {
			return reading.Calls[e].Count
		}
		return 0
	}
	n := 0.0
	for k := range r.app.Kinds {
		if r.app.Kinds[k].Root.Service == to {
			n += reading.Kinds[k].Ended
		}
	}
	return n
}

// istioLabels are those of Istio's standard metrics.
func (r *Exposition) istioLabels(reporter string, from, to int, code string) []string {
	source, sourceNamespace := gateway, gatewayNamespace
	if from >= 0 {
		source, sourceNamespace = r.app.Services[from].Name, r.namespace
	}
	callee := r.app.Services[to].Name
	return []string{
		"reporter", reporter,
		"source_workload", source, "source_workload_namespace", sourceNamespace,
		"destination_workload", callee, "destination_workload_namespace", r.namespace,
		"destination_service", callee + "." + r.namespace + ".svc.cluster.local",
		"destination_service_name", callee, "destination_service_namespace", r.namespace,
		"request_protocol", "http", "response_code", code,
	}
}
