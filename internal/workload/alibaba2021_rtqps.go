package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Alibaba cluster-trace-microservices-v2021, MSRTQps: call rates and response
// times of instances every minute, one metric a row.

// received is what a service is asked to do: calls that reach it by RPC and by
// HTTP. Summed over all services it counts inner calls too; HTTP_MCR alone is
// what comes from outside.
const received = "received"

var alibaba2021RTQps = &format{
	name:    "alibaba2021-rtqps",
	help:    "Alibaba microservices 2021 MSRTQps: calls/s of service instances, 1 min, 12 h; received = HTTP_MCR + providerRPC_MCR",
	unit:    Requests,
	period:  time.Minute,
	combine: CombineSum,
	columns: []string{"timestamp", "msname", "msinstanceid", "metric", "value"},
	headed:  true,
	keys:    []string{"msname", "msinstanceid"},
	metrics: append([]string{received}, callRates...),
	open: func(in *input) func() {
		return func() {
			metric := string(in.text(3))
			switch {
			case !in.selected(in.field):
				return
			case slices.Contains(callRates, metric):
			case slices.Contains(responseTimes, metric):
				return
			default:
				in.fault("metric", metric, fmt.Sprintf("must be one of %s, %s", strings.Join(callRates, ", "),
					strings.Join(responseTimes, ", ")))
				return
			}
			if metric != in.metric && (in.metric != received || (metric != "HTTP_MCR" && metric != "providerRPC_MCR")) {
				return
			}
			t, ok := in.instant("timestamp", in.text(0), time.Millisecond)
			if !ok {
				return
			}
			if v, ok := in.reading("value", in.text(4), 0, math.Inf(1)); ok {
				in.put(t, v)
			}
		}
	},
}

var (
	callRates     = []string{"providerRPC_MCR", "HTTP_MCR", "consumerRPC_MCR", "providerMQ_MCR", "consumerMQ_MCR"}
	responseTimes = []string{"providerRPC_RT", "HTTP_RT", "consumerRPC_RT", "providerMQ_RT", "consumerMQ_RT"}
)
