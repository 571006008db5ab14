package scale

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/loadline/loadline/test/cluster"
)

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

// loadLine of all services of a namespace, in mode Act.
func loadLine(ns string, services int, url, interval string) client.Object {
	var list []string
	for i := range services {
		list = append(list, fmt.Sprintf("{name: %[1]s, targetRef: {name: %[1]s}, bounds: {replicas: {min: 2, max: 12}}}", serviceName(i)))
	}
	text := fmt.Sprintf(`
apiVersion: loadline.dev/v1alpha1
kind: LoadLine
metadata: {name: app, namespace: %s}
spec:
  mode: Act
  interval: %s
  objectives: [{kind: request, latency: 250ms, service: %s}]
  prometheus: {url: %q, preset: istio, scrapeInterval: 15s}
  policy: {baseline: "hpa:target=60"}
  services: [%s]
`, ns, interval, serviceName(0), url, strings.Join(list, ", "))
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		panic(err)
	}
	return o
}

// metric of a process, summed over its series.
func metric(t *testing.T, p *cluster.Product, name string) float64 {
	t.Helper()
	sum := 0.0
	for line := range strings.Lines(p.Scrape(t)) {
		if rest, found := strings.CutPrefix(line, name); found && (strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, " ")) {
			fields := strings.Fields(line)
			if v, err := strconv.ParseFloat(fields[len(fields)-1], 64); err == nil {
				sum += v
			}
		}
	}
	return sum
}

// histogram of passes: how many took at most so many seconds.
type histogram map[float64]float64

func passSeconds(t *testing.T, p *cluster.Product) histogram {
	t.Helper()
	h := histogram{}
	for line := range strings.Lines(p.Scrape(t)) {
		if !strings.HasPrefix(line, "loadline_pass_seconds_bucket{") {
			continue
		}
		_, rest, _ := strings.Cut(line, `le="`)
		bound, _, _ := strings.Cut(rest, `"`)
		fields := strings.Fields(line)
		le, err := strconv.ParseFloat(bound, 64)
		n, err2 := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err == nil && err2 == nil {
			h[le] += n
		}
	}
	return h
}

func (h histogram) minus(before histogram) histogram {
	d := histogram{}
	for le, n := range h {
		d[le] = n - before[le]
	}
	return d
}

func (h histogram) count() float64 { return h[math.Inf(1)] }

// quantile is the bound of the bucket in which it is.
func (h histogram) quantile(q float64) string {
	best := math.Inf(1)
	for le, n := range h {
		if n >= q*h.count() && le < best {
			best = le
		}
	}
	if math.IsInf(best, 1) {
		return "more than 30s"
	}
	return "at most " + time.Duration(best*float64(time.Second)).String()
}
