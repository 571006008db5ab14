package scale

import (
	"bufio"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

// answers is a server with Prometheus' API for instant queries of the preset istio. Every namespace has the same
// services under a steady load. It answers joined queries too.
type answers struct {
	services atomic.Int64 // of each namespace
	queries  atomic.Int64
	bytes    atomic.Int64
}

// parts of a query, joined or not: its namespaces, and the numbers under which they are asked.
var parts = regexp.MustCompile(`[a-z_]*namespace="([a-z0-9-]+)"|"loadline_share", "([0-9]+)"`)

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.queries.Add(1)
	query := r.FormValue("query")
	var tags []string
	joined := false
	for _, found := range parts.FindAllStringSubmatch(query, -1) {
		if found[2] != "" {
			tags, joined = append(tags, fmt.Sprintf(`,"loadline_share":%q`, found[2])), true
		}
	}
	if !joined {
		tags = []string{""}
	}
	out := bufio.NewWriterSize(w, 64<<10)
	defer out.Flush()
	first := true
	row := func(labels, value string) {
		if !first {
			_ = out.WriteByte(',')
		}
		first = false
		n, _ := fmt.Fprintf(out, `{"metric":{%s},"value":[%d,%q]}`, labels, time.Now().Unix(), value)
		a.bytes.Add(int64(n))
	}
	_, _ = out.WriteString(`{"status":"success","data":{"resultType":"vector","result":[`)
	for _, tag := range tags {
		a.write(query, tag, row)
	}
	_, _ = out.WriteString("]}}")
}

var bounds = []string{"5", "10", "25", "50", "75", "100", "150", "200", "250", "300", "400", "500", "750", "1000", "2500", "5000",
	"10000", "30000", "60000", "+Inf"}

// write the series of one part.
func (a *answers) write(query, tag string, row func(labels, value string)) {
	value := "12.5"
	if strings.Contains(query, "timestamp(") {
		value = fmt.Sprintf("%d", time.Now().Unix()-3)
	}
	label := "workload"
	if strings.Contains(query, "destination_workload") {
		label = "destination_workload"
	}
	for i := range int(a.services.Load()) {
		name := serviceName(i)
		labels := fmt.Sprintf(`%q:%q%s`, label, name, tag)
		switch {
		case strings.Contains(query, "by (pod"):
			for pod := range 2 {
				row(fmt.Sprintf(`"pod":"%s-6d4b75cb6d-%05d"%s`, name, pod, tag), value)
			}
		case strings.Contains(query, "_bucket") && strings.Contains(query, "response_code"): // nothing fails
		case strings.Contains(query, "_bucket") && strings.Contains(query, "source_workload_namespace") && i > 0: // not an entry
		case strings.Contains(query, "_bucket"):
			for at, bound := range bounds {
				row(fmt.Sprintf(`%s,"le":%q`, labels, bound), fmt.Sprint(min(at*2, 12)))
			}
		case strings.Contains(query, "response_code"):
			row(labels, "0")
		default:
			row(labels, value)
		}
	}
}

func serviceName(i int) string { return fmt.Sprintf("service-%d", i) }
