package prom

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/sim"
)

// scrapes of the series that are made by hand: two hours of them.
const scrapes = 480

// exposed is an OpenMetrics text that is put together by hand.
type exposed struct {
	kinds map[string]string
	lines map[string][]string
}

func (e *exposed) add(family, kind, suffix, labels, value string, scrape int) {
	e.kinds[family] = kind
	e.lines[family] = append(e.lines[family], fmt.Sprintf("%s%s{%s} %s %d\n", family, suffix, labels, value,
		sim.Epoch.Unix()+15*int64(scrape)))
}

// counter grows evenly.
func (e *exposed) counter(family, labels string, perSecond float64) {
	for i := range scrapes {
		e.add(family, "counter", "_total", labels, fmt.Sprint(perSecond*15*float64(i)), i)
	}
}

// untyped is a counter whose name does not end in _total.
func (e *exposed) untyped(name, labels string, perSecond float64) {
	for i := range scrapes {
		e.add(name, "unknown", "", labels, fmt.Sprint(perSecond*15*float64(i)), i)
	}
}

// histogram of requests of which each takes so long: they lie in the second of
// three buckets.
func (e *exposed) histogram(family, labels string, perSecond, each float64) {
	for i := range scrapes {
		n := perSecond * 15 * float64(i)
		e.add(family, "histogram", "_bucket", labels+fmt.Sprintf(",le=%q", bound(each/2)), "0", i)
		e.add(family, "histogram", "_bucket", labels+fmt.Sprintf(",le=%q", bound(each*2)), fmt.Sprint(n), i)
		e.add(family, "histogram", "_bucket", labels+`,le="+Inf"`, fmt.Sprint(n), i)
		e.add(family, "histogram", "_sum", labels, fmt.Sprint(n*each), i)
		e.add(family, "histogram", "_count", labels, fmt.Sprint(n), i)
	}
}

func bound(v float64) string {
	s := fmt.Sprint(v)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func (e *exposed) text() []byte {
	var b bytes.Buffer
	families := []string{}
	for f := range e.kinds {
		families = append(families, f)
	}
	slices.Sort(families)
	for _, f := range families {
		fmt.Fprintf(&b, "# TYPE %s %s\n", f, e.kinds[f])
		for _, line := range e.lines[f] {
			b.WriteString(line)
		}
	}
	b.WriteString("# EOF\n")
	return b.Bytes()
}

func istioLabels(service string) string {
	return fmt.Sprintf(`reporter="destination",source_workload="istio-ingressgateway",source_workload_namespace="istio-system",destination_workload=%q,destination_workload_namespace="odd",response_code="200"`, service)
}

// oddities are series as exporters leave them that restart, come late, vanish
// or expose nonsense, in the namespace "odd"; and a little of what each preset
// reads, in namespaces of their own.
// kafka is a topic to which 30 messages a second arrive and of which a group finishes 20, in two partitions,
// besides one without an offset.
func kafka(e *exposed) {
	gauge := func(name, labels string, value float64, i int) {
		e.add(name, "gauge", "", labels, fmt.Sprint(value), i)
	}
	for i := range scrapes {
		seconds := 15 * float64(i)
		for partition := range 2 {
			of := fmt.Sprintf(`topic="mails",partition="%d"`, partition)
			group := of + `,consumergroup="mailers"`
			gauge("kafka_topic_partition_current_offset", of, 15*seconds, i)
			gauge("kafka_consumergroup_current_offset", group, 10*seconds, i)
			gauge("kafka_consumergroup_lag", group, 5*seconds, i)
		}
		gauge("kafka_consumergroup_lag", `topic="mails",partition="2",consumergroup="mailers"`, -1, i)
	}
}

func oddities() []byte {
	e := &exposed{kinds: map[string]string{}, lines: map[string][]string{}}
	requests := func(service string, from, to int, value func(i int) int) {
		for i := from; i < to; i++ {
			e.add("istio_requests", "counter", "_total", istioLabels(service), fmt.Sprint(value(i)), i)
		}
	}
	kafka(e)
	// 10 a second, counted anew after a restart in the middle.
	requests("restarted", 0, scrapes, func(i int) int { return 150 * (i % 240) })
	requests("late", 240, scrapes, func(i int) int { return 300 * (i - 240) })
	requests("vanished", 0, 240, func(i int) int { return 600 * i })
	for i := range scrapes {
		n := 150 * (i % 240)
		// One in ten is slower than the last bound.
		e.add("istio_request_duration_milliseconds", "histogram", "_bucket", istioLabels("restarted")+`,le="100.0"`, fmt.Sprint(n*9/10), i)
		e.add("istio_request_duration_milliseconds", "histogram", "_bucket", istioLabels("restarted")+`,le="+Inf"`, fmt.Sprint(n), i)
		// A histogram without any bound.
		e.add("istio_request_duration_milliseconds", "histogram", "_bucket", istioLabels("vanished")+`,le="+Inf"`, fmt.Sprint(n), i)
		value := []string{"1000", "NaN", "+Inf"}[i%3]
		e.add("container_memory_working_set_bytes", "gauge", "", `namespace="odd",pod="restarted-6d4b75cb6d-hx4qv",container="app"`,
			value, i)
	}
	for i := range scrapes {
		e.add("istio_requests", "counter", "_total", strings.ReplaceAll(istioLabels("web"), `"odd"`, `"nan"`), "NaN", i)
	}
	doubleAutoscaler(e)
	presetSeries(e)
	return e.text()
}

// doubleAutoscaler is one of KEDA's autoscalers, scraped twice.
func doubleAutoscaler(e *exposed) {
	for _, instance := range []string{"a", "b"} {
		labels := fmt.Sprintf(`namespace="odd",horizontalpodautoscaler="keda-hpa-restarted",instance=%q`, instance)
		for i := range scrapes {
			e.add("kube_horizontalpodautoscaler_info", "gauge", "", labels+
				`,scaletargetref_kind="Deployment",scaletargetref_name="restarted"`, "1", i)
			e.add("kube_horizontalpodautoscaler_spec_min_replicas", "gauge", "", labels, "2", i)
			e.add("kube_horizontalpodautoscaler_spec_max_replicas", "gauge", "", labels, "12", i)
			target := "20"
			if i > scrapes/2 {
				target = "35" // it was changed
			}
			e.add("kube_horizontalpodautoscaler_spec_target_metric", "gauge", "",
				labels+`,metric_name="s0-prometheus",metric_target_type="average"`, target, i)
		}
	}
}

// presetSeries is traffic as each preset's exporters show it: 10 requests a
// second to web, one of them failing, 50 ms each; web calls store 20 times a
// second, 20 ms each.
func presetSeries(e *exposed) {
	linkerd := func(labels string, perSecond, failed, ms float64) {
		e.counter("request", labels, perSecond)
		e.counter("response", labels+`,classification="success"`, perSecond-failed)
		if failed > 0 {
			e.counter("response", labels+`,classification="failure"`, failed)
		}
		e.histogram("response_latency_ms", labels, perSecond, ms)
	}
	linkerd(`namespace="mesh",deployment="web",direction="inbound"`, 10, 1, 50)
	linkerd(`namespace="mesh",deployment="web",direction="outbound",dst_namespace="mesh",dst_deployment="store"`, 20, 0, 20)
	linkerd(`namespace="mesh",deployment="store",direction="inbound",client_id="web.mesh.serviceaccount.identity.linkerd.cluster.local"`, 20, 0, 20)

	const ingress = `namespace="ingress-nginx",service="controller-metrics",exported_namespace="edge",exported_service="web",path="/"`
	e.untyped("nginx_ingress_controller_requests", ingress+`,status="200"`, 9)
	e.untyped("nginx_ingress_controller_requests", ingress+`,status="502"`, 1)
	e.histogram("nginx_ingress_controller_request_duration_seconds", ingress, 10, 0.05)
	e.histogram("nginx_ingress_controller_response_duration_seconds", ingress, 10, 0.05)

	span := func(labels string, perSecond, ms float64) {
		e.counter("traces_span_metrics_calls", labels, perSecond)
		e.histogram("traces_span_metrics_duration_milliseconds", labels, perSecond, ms)
	}
	const server = `k8s_namespace_name="traced",span_kind="SPAN_KIND_SERVER"`
	span(`service_name="web",status_code="STATUS_CODE_UNSET",`+server, 9, 50)
	span(`service_name="web",status_code="STATUS_CODE_ERROR",`+server, 1, 50)
	span(`service_name="store",status_code="STATUS_CODE_UNSET",`+server, 20, 20)
	e.counter("traces_service_graph_request", `client="user",server="web",server_k8s_namespace_name="traced"`, 10)
	e.counter("traces_service_graph_request_failed", `client="user",server="web",server_k8s_namespace_name="traced"`, 1)
	e.histogram("traces_service_graph_request_client_seconds", `client="user",server="web",server_k8s_namespace_name="traced"`, 10, 0.05)
	e.counter("traces_service_graph_request",
		`client="web",server="store",client_k8s_namespace_name="traced",server_k8s_namespace_name="traced"`, 20)
	e.histogram("traces_service_graph_request_client_seconds",
		`client="web",server="store",client_k8s_namespace_name="traced",server_k8s_namespace_name="traced"`, 20, 0.02)

	const own = `namespace="instrumented",pod="web-6b7f5d9c4d-x2lzq",http_route="/",http_response_status_code=`
	e.histogram("http_server_request_duration_seconds", own+`"200"`, 9, 0.05)
	e.histogram("http_server_request_duration_seconds", own+`"500"`, 1, 0.05)
	e.histogram("http_client_request_duration_seconds",
		`namespace="instrumented",pod="web-6b7f5d9c4d-x2lzq",server_address="store.instrumented.svc:8080",http_response_status_code="200"`, 20, 0.02)
	e.histogram("http_server_request_duration_seconds",
		`namespace="instrumented",pod="store-0",http_route="/",http_response_status_code="200"`, 20, 0.02)

	const revision = `namespace_name="functions",configuration_name="web",service_name="web",revision_name="web-00001"`
	e.untyped("revision_request_count", revision+`,response_code_class="2xx"`, 9)
	e.untyped("revision_request_count", revision+`,response_code_class="5xx"`, 1)
	e.histogram("revision_request_latencies", revision, 10, 50)
	e.histogram("revision_app_request_latencies", revision, 10, 30)
	for i := range scrapes {
		e.add("kube_deployment_spec_replicas", "gauge", "", `namespace="functions",deployment="web-00001-deployment"`, "2", i)
		e.add("kube_deployment_spec_replicas", "gauge", "", `namespace="functions",deployment="web-00002-deployment"`, "1", i)
	}
}
