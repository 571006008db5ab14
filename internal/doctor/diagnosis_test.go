package doctor

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/controller"
	"github.com/loadline/loadline/internal/decisionlog"
)

// The same state of a Prometheus is described by the same sentence in doctor, in the
// condition Stale and by explain.
func TestOneDiagnosis(t *testing.T) {
	for name, row := range map[string]struct {
		spoil    func(*series)
		state    State
		sentence string // beginning of the sentence
		other    bool   // it concerns web too
	}{
		"no preset fits": {func(s *series) { s.fits = "" }, Fault,
			"every metric is absent: observe shop: no metrics are found: namespace shop has metrics", true},
		"no series at all": {func(s *series) { s.age = 7 * time.Minute }, Fault,
			"service rate is absent: the query has no result: ", true},
		"one service missing": {func(s *series) { s.names = []string{"web"} }, Fault,
			"service cpu of cart is absent: the query has results for others only: ", false},
		"one service under another name": {func(s *series) { s.names = []string{"web", "carts"} }, Fault,
			`service rate of cart is absent: the query has results for others; do the metrics call cart "carts"?`, false},
		"stale": {func(s *series) { s.age = 4 * time.Minute }, Fault,
			"service rate is stale: the newest sample is of 2026-03-01T11:56:00Z, older than guard.data.maxAge (2m0s)", true},
		"an error for one query, no rate": {func(s *series) {
			s.fail, s.absent["istio_requests_total"] = "container_cpu_usage_seconds_total", true
		}, Fault, "service cpu is absent: query ", true},
		"an error for every query": {func(s *series) { s.fail = "{" }, Warning,
			"every metric is absent: observe shop: look for what preset ", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := healthy(t)
			row.spoil(p.series)
			p.options.Prometheus = p.series.client(t)
			sentence := found(p.examine(), row.state, row.sentence)
			if sentence == "" {
				t.Fatalf("doctor does not report %q", row.sentence)
			}
			// What the server answered is for those who may ask it: doctor shows it, conditions do not.
			sentence, _, _ = strings.Cut(sentence, " answers 422: ")
			condition, explained := p.pass(t)
			if strings.Contains(condition, "would load too much") {
				t.Errorf("the condition quotes the server: %s", condition)
			}
			if !strings.Contains(condition, sentence) {
				t.Errorf("doctor reports %q, the condition Stale is\n%s", sentence, condition)
			}
			if !strings.Contains(explained["cart"], sentence) {
				t.Errorf("doctor reports %q, explain prints\n%s", sentence, explained["cart"])
			}
			if strings.Contains(explained["web"], sentence) != row.other {
				t.Errorf("%q concerns web: %v, but explain prints\n%s", sentence, row.other, explained["web"])
			}
		})
	}
}

// found is the finding of a state that begins with some words, without its full stop.
func found(r *Report, s State, begins string) string {
	for _, f := range r.Findings {
		if f.State == s && strings.HasPrefix(f.Found, begins) {
			return strings.TrimSuffix(f.Found, ".")
		}
	}
	return ""
}

// pass is one of the controller over the same cluster and the same Prometheus: the
// condition Stale, and what explain prints of each service.
func (p *patient) pass(t *testing.T) (stale string, explained map[string]string) {
	t.Helper()
	c, decisions := p.client(), t.TempDir()
	var l v1alpha1.LoadLine
	if err := c.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "main"}, &l); err != nil {
		t.Fatal(err)
	}
	l.Spec.Prometheus.URL = p.series.serve(t)
	f := controller.New(t.Context(), controller.Options{
		Client: c, Live: c, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }, Decisions: decisions, DryRun: true,
	}).Once(t.Context(), &l)
	log, err := decisionlog.OpenReader(filepath.Join(decisions, "shop", "main"))
	if err != nil {
		t.Fatalf("%v after %+v", err, f)
	}
	explained = map[string]string{}
	if err := log.Between(now.Add(-time.Hour), now.Add(time.Hour), func(e decisionlog.Entry) error {
		for _, service := range []string{"web", "cart"} {
			explained[service] = decisionlog.Explain(e, service)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return f.Conditions[v1alpha1.ConditionStale], explained
}
