package doctor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/metrics/prom"
)

// series is a Prometheus with metrics of some services.
type series struct {
	fits   string // part of the probe that finds something; empty = no preset fits
	names  []string
	known  []string        // namespaces
	absent map[string]bool // parts of queries that have no result
	lost   string          // "cart rate": a service without one metric
	fail   string          // part of the queries that the server refuses
	age    time.Duration
	every  time.Duration
	down   bool

	url string
}

func newSeries() *series {
	return &series{fits: "istio_requests_total", names: []string{"web", "cart"}, known: []string{"shop", "kube-system"},
		absent: map[string]bool{}, age: 10 * time.Second, every: 15 * time.Second}
}

func (s *series) serve(t *testing.T) string {
	if s.url == "" {
		server := httptest.NewServer(s)
		t.Cleanup(server.Close)
		s.url = server.URL
	}
	return s.url
}

func (s *series) client(t *testing.T) *prom.Client {
	t.Helper()
	c, err := prom.NewClient(prom.Server{URL: s.serve(t), Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type labelSet map[string]string

func (s *series) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // without a form there is no query, and no result
	query := r.Form.Get("query")
	answer := func(data any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": data})
	}
	switch {
	case s.down:
		http.Error(w, "no endpoints", http.StatusServiceUnavailable)
	case query != "vector(1)" && s.fail != "" && strings.Contains(query, s.fail):
		http.Error(w, `{"status":"error","errorType":"execution","error":"query processing would load too much"}`,
			http.StatusUnprocessableEntity)
	case strings.HasSuffix(r.URL.Path, "/values"):
		answer(s.known)
	case strings.HasSuffix(r.URL.Path, "/query_range"):
		result := []any{}
		if s.fits != "" && strings.Contains(query, s.fits) && s.age < 10*time.Minute {
			result = append(result, map[string]any{"metric": labelSet{}, "values": []any{[]any{float64(now.Unix()), "1"}}})
		}
		answer(map[string]any{"resultType": "matrix", "result": result})
	default:
		answer(map[string]any{"resultType": "vector", "result": s.vector(query)})
	}
}

func row(value float64, l labelSet) map[string]any {
	return map[string]any{"metric": l, "value": []any{float64(now.Unix()), fmt.Sprint(value)}}
}

// counted are the windows of the query for the scrape interval.
var counted = regexp.MustCompile(`\[(\w+)\]\)\), "over", "(\d+)"`)

func (s *series) vector(query string) []any {
	rows := []any{}
	if s.age > 5*time.Minute { // older than Prometheus' lookback
		return rows
	}
	for part := range s.absent {
		if strings.Contains(query, part) {
			return rows
		}
	}
	if windows := counted.FindAllStringSubmatch(query, -1); windows != nil {
		for _, w := range windows {
			over, err := time.ParseDuration(w[1])
			if err == nil && over >= s.every {
				rows = append(rows, row(float64(over/s.every), labelSet{"over": w[2]}))
			}
		}
		return rows
	}
	service, part, _ := strings.Cut(s.lost, " ")
	for _, name := range s.names {
		if name == service && strings.Contains(query, part) {
			continue
		}
		l := func(more ...string) labelSet {
			all := labelSet{"destination_workload": name, "workload": name, "pod": name + "-1"}
			if len(more) > 0 {
				all["le"] = more[0]
			}
			return all
		}
		switch {
		case strings.Contains(query, "timestamp("):
			rows = append(rows, row(float64(now.Add(-s.age).Unix()), l()))
		case strings.Contains(query, "_bucket"):
			rows = append(rows, row(9, l("100.0")), row(10, l("+Inf")))
		default:
			rows = append(rows, row(1, l()))
		}
	}
	return rows
}
