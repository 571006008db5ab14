package live

import (
	"context"
	"math"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// oneOfEach is a preset with one query of each kind: those in the program have dozens, each of which
// is a request.
const oneOfEach = `
version: 1
name: fuzz
probe: up
service:
  label: destination_workload
  newest: max by (destination_workload) (timestamp(up))
  buckets: {query: "sum by (le, destination_workload) (rate(a_bucket[$window]))", scale: 0.001}
  metrics: {rate: {query: "sum by (destination_workload) (rate(a[$window]))"}}
calls:
  from: source_workload
  to: destination_workload
  metrics: {rate: {query: "sum by (source_workload, destination_workload) (rate(b[$window]))"}}
pods:
  label: pod
  metrics: {restarts: {query: "sum by (pod) (c)"}}
`

// FuzzObserve: whatever a server answers, and whenever it says that it was scraped, an observation
// has finite numbers that are not from the future, or is an error.
func FuzzObserve(f *testing.F) {
	_, value := web("rate")
	_, histogram := web("_bucket")
	f.Add(value, 990.0)
	f.Add(histogram, 1e300)
	f.Add(value, 1e12)
	_, twice := vector(row(`"destination_workload":"web"`, "1.7e308"), row(`"destination_workload":"web"`, "1.7e308"))
	f.Add(twice, math.NaN())
	_, odd := vector(row(`"destination_workload":"web","le":"NaN"`, "3"), row(`"destination_workload":"web","le":"+Inf"`, "-2"),
		row(`"pod":"web-0"`, "NaN"), row(`"destination_workload":"web","le":"-Inf"`, "4"))
	f.Add(odd, -62135596800.0)
	f.Add(`{"status":"error","errorType":"bad_data","error":"no"}`, 0.0)

	var body, scraped atomic.Value
	server := httptest.NewServer(&canned{respond: func(query string) (int, string) {
		if strings.Contains(query, "timestamp(") {
			return 200, scraped.Load().(string)
		}
		return 200, body.Load().(string)
	}})
	f.Cleanup(server.Close)
	preset, err := prom.Parse("fuzz.yaml", []byte(oneOfEach))
	if err != nil {
		f.Fatal(err)
	}
	c := client(f, server.URL)
	f.Fuzz(func(t *testing.T, text string, seconds float64) {
		body.Store(text)
		_, newest := vector(row(`"destination_workload":"web","workload":"web","pod":"web-0"`, strconv.FormatFloat(seconds, 'g', -1, 64)))
		scraped.Store(newest)
		s, err := New(c, Options{App: application("web", "cart"), Namespace: "shop", Preset: preset, Scrape: 15 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		o := loadline.Observation{Services: make([]loadline.ServiceObservation, 2)}
		o.Services[0].Pods = make([]loadline.PodObservation, 1)
		if s.Observe(context.Background(), at, [][]string{{"web-0"}, nil}, &o) == nil {
			check(t, &o)
		}
	})
}

// check that all samples of an observation can be used.
func check(t *testing.T, o *loadline.Observation) {
	t.Helper()
	one := func(what string, s loadline.Sample) {
		if !s.Present() {
			return
		}
		if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) || s.At.After(at) {
			t.Errorf("%s is %v at %v, observed at %v", what, s.Value, s.At, at)
		}
	}
	latency := func(l *loadline.Latency) {
		one("mean", l.Mean)
		for _, q := range latencyFields(l) {
			one("quantile", *q)
		}
	}
	for i := range o.Services {
		for m, r := range loadline.ServiceTable {
			if r.Field != nil {
				one(loadline.ServiceTable[m].Name, *r.Field(&o.Services[i]))
			}
		}
		latency(&o.Services[i].Latency)
		one("restarts", o.Services[i].Restarts)
		for j := range o.Services[i].Pods {
			for m, r := range loadline.PodTable {
				if r.Field != nil {
					one(loadline.PodTable[m].Name, *r.Field(&o.Services[i].Pods[j]))
				}
			}
		}
	}
	for i := range o.Kinds {
		k := &o.Kinds[i]
		one("rate", k.Rate)
		one("failed", k.Failed)
		one("at the SLO", k.AtSLO)
		one("over the SLO", k.OverSLO)
		latency(&k.Latency)
	}
}
