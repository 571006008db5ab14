package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// canned answers queries in Prometheus' place, and counts them.
type canned struct {
	mu      sync.Mutex
	asked   []string
	respond func(query string) (code int, body string)
	slow    func(query string) bool // is not answered until the client gives up

	others   int    // queries that are not slow and not answered yet
	answered func() // is called after the last of them
}

func (c *canned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	query := r.Form.Get("query")
	c.mu.Lock()
	c.asked = append(c.asked, query)
	c.mu.Unlock()
	if c.slow != nil && c.slow(query) {
		<-r.Context().Done()
		return
	}
	code, body := c.respond(query)
	w.WriteHeader(code)
	fmt.Fprint(w, body)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.others--; c.others == 0 && c.answered != nil {
		c.answered()
	}
}

// deadline is a context that expires when every query but the slow ones was answered,
// however long that takes, and the answers have had the time to arrive.
func (c *canned) deadline(t *testing.T) context.Context {
	t.Helper()
	all := &canned{respond: web}
	if _, err := tryObserve(t.Context(), faulty(t, all), at, []string{"web-0"}); err != nil {
		t.Fatal(err)
	}
	for _, query := range all.asked {
		if !c.slow(query) {
			c.others++
		}
	}
	ctx := &expiring{Context: t.Context(), done: make(chan struct{})}
	c.answered = func() { time.AfterFunc(3*time.Second, func() { close(ctx.done) }) }
	return ctx
}

// expiring is a context whose deadline is an event.
type expiring struct {
	context.Context
	done chan struct{}
}

func (e *expiring) Done() <-chan struct{} { return e.done }

func (e *expiring) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return e.Context.Err()
	}
}

// vector is an answer with one series per row of labels.
func vector(rows ...string) (int, string) {
	return http.StatusOK, `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(rows, ",") + `]}}`
}

func row(labels, value string) string {
	return fmt.Sprintf(`{"metric":{%s},"value":[1000,%q]}`, labels, value)
}

// web answers every query with one value of the service web, scraped at 990.
func web(query string) (int, string) {
	switch {
	case strings.Contains(query, "timestamp("):
		return vector(row(`"destination_workload":"web","workload":"web","pod":"web-0"`, "990"))
	case strings.Contains(query, "_bucket"):
		return vector(row(`"destination_workload":"web","le":"100.0"`, "9"), row(`"destination_workload":"web","le":"+Inf"`, "10"))
	}
	return vector(row(`"destination_workload":"web","workload":"web","pod":"web-0"`, "1"))
}

func faulty(t *testing.T, c *canned) *Source {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	preset, err := prom.Load("istio")
	if err != nil {
		t.Fatal(err)
	}
	return source(t, server.URL, Options{App: application("web"), Namespace: "shop", Preset: preset, Scrape: 15 * time.Second})
}

var at = time.Unix(1000, 0).UTC()

func TestNothingCanBeAsked(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	preset, err := prom.Load("istio")
	if err != nil {
		t.Fatal(err)
	}
	answering := func(code int) *Source {
		return faulty(t, &canned{respond: func(string) (int, string) { return code, "no" }})
	}
	for name, row := range map[string]struct {
		source *Source
		is     error
		want   string
	}{
		"no server": {source(t, gone.URL, Options{App: application("web"), Namespace: "shop", Preset: preset,
			Scrape: time.Second}), prom.ErrUnreachable, "cannot be reached"},
		"no server to choose a preset for": {source(t, gone.URL, Options{App: application("web"), Namespace: "shop"}),
			prom.ErrUnreachable, "cannot be reached"},
		"not let in":      {answering(401), prom.ErrRefused, "401"},
		"no right":        {answering(403), prom.ErrRefused, "403"},
		"no such address": {answering(404), nil, "404"},
		"in trouble":      {answering(503), nil, "503"},
		"never answers": {faulty(t, &canned{slow: func(string) bool { return true }}), context.DeadlineExceeded,
			"did not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if row.is == context.DeadlineExceeded {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Second) // nothing is answered before it either
				defer cancel()
			}
			o, err := tryObserve(ctx, row.source, at, []string{"web-0"})
			if err == nil || row.is != nil && !errors.Is(err, row.is) || !strings.Contains(err.Error(), row.want) ||
				!strings.Contains(err.Error(), "shop") {
				t.Fatalf("%v, want %v and %q", err, row.is, row.want)
			}
			absent(t, "rate", o.Services[0].Rate)
			absent(t, "pod CPU", o.Services[0].Pods[0].CPU)
			if len(o.Services[0].Pods) != 1 || !o.At.Equal(at) || len(o.Kinds) != 1 {
				t.Errorf("%+v", o)
			}
			if r := row.source.Report(); r.Error != err.Error() || !r.At.Equal(at) {
				t.Errorf("report %+v", r)
			}
		})
	}
}

func TestSomeQueriesFail(t *testing.T) {
	t.Parallel()
	isErrors := func(query string) bool { return strings.Contains(query, "0 *") }
	isAge := func(query string) bool { return strings.Contains(query, "timestamp(") }
	for name, row := range map[string]struct {
		canned *canned
		reason string
		age    time.Duration
	}{
		"one is refused": {&canned{respond: func(query string) (int, string) {
			if isErrors(query) {
				return 422, `{"status":"error","errorType":"execution","error":"many-to-many matching"}`
			}
			return web(query)
		}}, "many-to-many", 10 * time.Second},
		"one is slow": {&canned{respond: web, slow: isErrors}, "deadline", 10 * time.Second},
		"one is no number": {&canned{respond: func(query string) (int, string) {
			if isErrors(query) {
				return vector(row(`"destination_workload":"web"`, "NaN"))
			}
			return web(query)
		}}, "no result", 10 * time.Second},
		"one is empty and the ages are slow": {&canned{slow: isAge, respond: func(query string) (int, string) {
			if isErrors(query) {
				return vector()
			}
			return web(query)
		}}, "as the request rate", time.Minute}, // as old as it can be
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := faulty(t, row.canned)
			ctx := t.Context()
			if row.canned.slow != nil {
				ctx = row.canned.deadline(t)
			}
			o, err := tryObserve(ctx, s, at, []string{"web-0"})
			if err != nil {
				t.Fatal(err)
			}
			near(t, "rate", o.Services[0].Rate, 1, 0)
			near(t, "pod CPU", o.Services[0].Pods[0].CPU, 1, 0)
			near(t, "p90", o.Services[0].Latency.P90, 0.1, 1e-9)
			near(t, "p99 of the kind, above the last bound", o.Kinds[0].AtSLO, 0.1, 1e-9)
			if age := at.Sub(o.Services[0].Rate.At); age != row.age {
				t.Errorf("rate is %v old, want %v", age, row.age)
			}
			absent(t, "errors", o.Services[0].Errors)
			absent(t, "failed", o.Kinds[0].Failed)
			absent(t, "over the SLO without knowing failures", o.Kinds[0].OverSLO)
			told := false
			for _, a := range s.Report().Lacking() {
				told = told || a.Scope == loadline.OfService && a.Metric == "errors" && strings.Contains(a.Why, row.reason) && a.Names == nil
			}
			if !told {
				t.Errorf("%q is not told: %v", row.reason, s.Report().Lacking())
			}
		})
	}
}

// TestResourcesAlone: without traffic there is no rate, and the reason is told.
func TestResourcesAlone(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&canned{respond: func(query string) (int, string) {
		if strings.Contains(query, "count_over_time") {
			return 422, `{"status":"error","errorType":"execution","error":"not here"}`
		}
		return web(query)
	}})
	defer server.Close()
	preset, err := prom.Load("cadvisor-ksm")
	if err != nil {
		t.Fatal(err)
	}
	s := source(t, server.URL, Options{App: application("web"), Namespace: "shop", Preset: preset})
	o := observe(t, s, at, []string{"web-0"})
	near(t, "CPU", o.Services[0].CPU, 1, 0)
	near(t, "restarts", o.Services[0].Restarts, 1, 0)
	absent(t, "rate", o.Services[0].Rate)
	absent(t, "p99", o.Services[0].Latency.P99)
	absent(t, "kind", o.Kinds[0].Rate)
	absent(t, "over the SLO", o.Kinds[0].OverSLO)
	r := s.Report()
	if r.Sure || r.Window != 2*time.Minute || !strings.Contains(fmt.Sprint(r.Notes), "not certain") {
		t.Errorf("report %+v", r)
	}
	if !strings.Contains(fmt.Sprint(r.Lacking()), "service rate is absent: preset cadvisor-ksm has no query for it") {
		t.Errorf("absent: %v", r.Lacking())
	}
}

func TestWhatIsSettledIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	c := &canned{respond: func(query string) (int, string) {
		if strings.Contains(query, "count_over_time") {
			return vector(row(`"over":"3"`, "8"), row(`"over":"4"`, "20"), row(`"over":"0"`, "1"))
		}
		return web(query)
	}}
	server := httptest.NewServer(c)
	defer server.Close()
	preset, err := prom.Load("istio")
	if err != nil {
		t.Fatal(err)
	}
	s := source(t, server.URL, Options{App: application("web"), Namespace: "shop", Preset: preset})
	observe(t, s, at, nil)
	first := len(c.asked)
	observe(t, s, at, nil)
	second := len(c.asked) - first
	// The scrape interval, and failed requests of services once users' are seen.
	if r := s.Report(); r.Scrape != 15*time.Second || r.Queries > 24 || first != r.Queries+1 || second != r.Queries-1 {
		t.Errorf("%d, then %d requests; report %+v", first, second, r)
	}
}

func TestOptionsThatAreWrong(t *testing.T) {
	t.Parallel()
	preset, err := prom.Load("istio")
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"a namespace that is none":   {func(o *Options) { o.Namespace = `x"} or up{a="` }, "namespace"},
		"an operation of nobody":     {func(o *Options) { o.Kinds = []Where{{Operation: "GET /"}} }, "name the service"},
		"a service of somebody else": {func(o *Options) { o.Kinds = []Where{{Service: "wep"}} }, `did you mean "web"`},
		"too few places":             {func(o *Options) { o.Kinds = []Where{} }, "0 places"},
		"a negative window":          {func(o *Options) { o.Window = -1 }, "window"},
		"a negative scrape":          {func(o *Options) { o.Scrape = -time.Second }, "scrape"},
		"an unknown variable":        {func(o *Options) { o.Variables = map[string]string{"fialed": "x"} }, `did you mean "failed"`},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{App: application("web"), Namespace: "shop", Preset: preset}
			row.change(&o)
			if _, err := New(client(t, "http://localhost"), o); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}

// A sample that is older than guard.data.maxAge is reported as stale, with its time.
func TestStaleSamplesAreReported(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&canned{respond: web}) // scraped at 990
	t.Cleanup(server.Close)
	preset, err := prom.Load("istio")
	if err != nil {
		t.Fatal(err)
	}
	for maxAge, want := range map[time.Duration]loadline.MetricState{
		0: loadline.MetricPresent, 10 * time.Second: loadline.MetricPresent, 9 * time.Second: loadline.MetricStale,
	} {
		s := source(t, server.URL, Options{App: application("web"), Namespace: "shop", Preset: preset, Scrape: 15 * time.Second, MaxAge: maxAge})
		observe(t, s, at, []string{"web-0"})
		found := false
		for _, d := range s.Report().Metrics {
			if d.Scope == loadline.OfService && d.Metric == "rate" {
				found = found || d.State == want
				if d.State == loadline.MetricStale && (!d.Since.Equal(time.Unix(990, 0)) || d.Remedy == "" ||
					d.String() != "service rate is stale: the newest sample is of 1970-01-01T00:16:30Z, older than guard.data.maxAge (9s)") {
					t.Errorf("%+v", d)
				}
			}
		}
		if !found {
			t.Errorf("with maxAge %v the rate is not %s: %v", maxAge, want, s.Report().Metrics)
		}
	}
}

// A panic while one answer is read must not end the process: that question has no
// values, the others have.
func TestAPanicIsAFailureOfOneQuestion(t *testing.T) {
	t.Parallel()
	s := faulty(t, &canned{respond: web})
	if _, err := tryObserve(t.Context(), s, at, []string{"web-0"}); err != nil {
		t.Fatal(err)
	}
	broken := *s.plan
	broken.questions = slices.Clone(s.plan.questions)
	broken.questions[0].query = nil
	s.plan = &broken
	got, err := s.ask(t.Context(), at, names{"web-0": "web-0"})
	if err != nil {
		t.Fatal(err)
	}
	if a := got.list[0]; a.err == nil || !strings.Contains(a.err.Error(), "panic") || len(a.values) > 0 {
		t.Errorf("the broken question: %+v", a)
	}
	for i := range got.list[1:] {
		if a := got.list[i+1]; a.err != nil && !errors.Is(a.err, errSpared) {
			t.Errorf("question %d: %v", i+1, a.err)
		}
	}
}

// TestTooManyValuesAreRefused: series of one service without end do not fill memory, and part of an
// answer is none.
func TestTooManyValuesAreRefused(t *testing.T) {
	t.Parallel()
	rows := make([]string, 0, mostKept+mostOfOne+1)
	for i := range cap(rows) {
		rows = append(rows, row(fmt.Sprintf(`"destination_workload":"web","le":"%d"`, i), "9"))
	}
	code, body := vector(rows...)
	s := faulty(t, &canned{respond: func(query string) (int, string) {
		if strings.Contains(query, "_bucket") && !strings.Contains(query, "timestamp(") {
			return code, body
		}
		return web(query)
	}})
	got := observe(t, s, at, []string{"web-0"})
	absent(t, "p99", got.Services[0].Latency.P99)
	near(t, "request rate", got.Services[0].Rate, 1, 1e-9)
	if !slices.ContainsFunc(s.Report().Lacking(), func(m loadline.Diagnosis) bool { return strings.Contains(m.Why, "more than 11000 values") }) {
		t.Errorf("%+v", s.Report().Lacking())
	}
}
