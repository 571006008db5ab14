package prom

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"

	"github.com/loadline/loadline/internal/sim"
)

// behindProxy puts a proxy in front of the real server that does something else
// with a request where trouble returns true.
func behindProxy(t *testing.T, w *world, trouble func(http.ResponseWriter, *http.Request) bool) string {
	t.Helper()
	target, err := url.Parse(w.url)
	if err != nil {
		t.Fatal(err)
	}
	through := httputil.NewSingleHostReverseProxy(target)
	through.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !trouble(rw, r) {
			through.ServeHTTP(rw, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// once causes trouble for the first few requests.
func once(times int64, do func(http.ResponseWriter)) func(http.ResponseWriter, *http.Request) bool {
	var n atomic.Int64
	return func(w http.ResponseWriter, _ *http.Request) bool {
		if n.Add(1) > times {
			return false
		}
		do(w)
		return true
	}
}

func refuse(w http.ResponseWriter, code int, kind, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"status":"error","errorType":%q,"error":%q}`, kind, text)
}

func TestTroubleThatPassesIsWaitedFor(t *testing.T) {
	w := prometheus(t)
	for name, row := range map[string]struct {
		do   func(http.ResponseWriter)
		wait time.Duration // that the server asks for
	}{
		"503":            {do: func(w http.ResponseWriter) { w.WriteHeader(503) }},
		"500 of the API": {do: func(w http.ResponseWriter) { refuse(w, 500, "internal", "disk on fire") }},
		"503 with Retry-After": {do: func(w http.ResponseWriter) { w.Header().Set("Retry-After", "7"); w.WriteHeader(503) },
			wait: 7 * time.Second},
		"429 with Retry-After": {do: func(w http.ResponseWriter) { w.Header().Set("Retry-After", "3"); w.WriteHeader(429) },
			wait: 3 * time.Second},
		"an answer that ends early": {do: func(w http.ResponseWriter) { fmt.Fprint(w, `{"status":"success","data":{"resultType":"mat`) }},
		"a connection that breaks":  {do: tear},
		"a connection that is cut before the answer": {do: func(w http.ResponseWriter) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.Close()
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, Server{URL: behindProxy(t, w, once(2, row.do)), AtOnce: 1})
			var waits []time.Duration
			c.retry.wait = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
			p := pull(c, t.TempDir(), "shop")
			p.Since = 5 * time.Minute
			report, h := mustPull(t, p)
			if len(waits) != 2 || row.wait > 0 && waits[0] != row.wait || row.wait == 0 &&
				(waits[0] > time.Second || waits[1] > 2*time.Second) {
				t.Errorf("waits %v", waits)
			}
			if v, ok := h.Services[0].Series[0].Get(h.Steps - 1); !ok || v <= 0 || len(report.Services) != 4 {
				t.Errorf("rate %v (%v) of %v", v, ok, report.Services)
			}
		})
	}
}

// tear promises more than it sends.
func tear(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "100000")
	fmt.Fprint(w, `{"status":"success",`)
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func TestTroubleThatStaysIsToldClearly(t *testing.T) {
	w := prometheus(t)
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("sesame-open\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		do       func(http.ResponseWriter)
		requests int64
		want     []string
	}{
		"a wrong token": {func(w http.ResponseWriter) { w.WriteHeader(401) }, 1, []string{"401", "check the token"}},
		"a token that is echoed": {func(w http.ResponseWriter) { w.WriteHeader(401); fmt.Fprint(w, "bad token sesame-open") }, 1,
			[]string{"401", "<hidden>"}},
		"no right to query": {func(w http.ResponseWriter) { w.WriteHeader(403) }, 1, []string{"403", "right to query"}},
		"another path":      {func(w http.ResponseWriter) { w.WriteHeader(404) }, 1, []string{"404", "/select/0/prometheus"}},
		"a login page":      {func(w http.ResponseWriter) { fmt.Fprint(w, "<html>please log in</html>") }, 1, []string{"login page"}},
		"a redirect to a login page": {func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://sso.invalid/login?rd=secret")
			w.WriteHeader(302)
		}, 1, []string{"redirects to https://sso.invalid/login, a login page", "--token-file", "kubectl port-forward"}},
		"a redirect to the API elsewhere": {func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://elsewhere.invalid/prom/api/v1/query_range")
			w.WriteHeader(301)
		}, 1, []string{"redirects to https://elsewhere.invalid/prom: give that address instead"}},
		"down for long": {func(w http.ResponseWriter) { w.WriteHeader(503) }, 3,
			[]string{"503", "3 attempts", "run the same command again"}},
		"too many requests": {func(w http.ResponseWriter) { w.WriteHeader(429) }, 3, []string{"429", "--concurrency 1"}},
		"asks for much patience": {func(w http.ResponseWriter) { w.Header().Set("Retry-After", "3600"); w.WriteHeader(503) }, 1,
			[]string{"asks to wait 1h0m0s"}},
		"an error in the query": {func(w http.ResponseWriter) { refuse(w, 400, "bad_data", "parse error: unexpected end") }, 1,
			[]string{"400", "parse error"}},
		"too much at every point": {func(w http.ResponseWriter) {
			refuse(w, 422, "execution", "query processing would load too many samples")
		}, 6, []string{"single point", "max-samples"}},
	} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			c := client(t, Server{TokenFile: token, URL: behindProxy(t, w,
				func(w http.ResponseWriter, _ *http.Request) bool { n.Add(1); row.do(w); return true })})
			p := pull(c, filepath.Join(t.TempDir(), "past"), "shop")
			_, err := p.Run(context.Background())
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "secret") {
				t.Errorf("the token is in the message: %v", err)
			}
			if n.Load() != row.requests {
				t.Errorf("%d requests, want %d", n.Load(), row.requests)
			}
			if _, err := os.Stat(p.Dir); !errors.Is(err, os.ErrNotExist) {
				t.Error("something was written")
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	c := client(t, Server{URL: s.URL})
	_, err := pull(c, t.TempDir(), "shop").Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "cannot be reached") || !strings.Contains(err.Error(), "port-forward") {
		t.Errorf("%v", err)
	}
}

func TestUnknownAuthorityIsNotTriedAgain(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { n.Add(1) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that is broken off
	s.StartTLS()
	defer s.Close()
	c := client(t, Server{URL: s.URL})
	c.retry.wait = func(context.Context, time.Duration) error { t.Error("tried again"); return nil }
	_, err := pull(c, t.TempDir(), "shop").Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "--ca-file") || n.Load() != 0 {
		t.Errorf("%v", err)
	}
}

func TestRangesAreCutToTheServersLimits(t *testing.T) {
	w := prometheus(t)
	var mu sync.Mutex
	longest, refused := 0, 0
	limited := behindProxy(t, w, func(rw http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/query_range") {
			return false
		}
		points := pointsOf(t, r)
		mu.Lock()
		defer mu.Unlock()
		if points > 50 {
			refused++
			refuse(rw, 422, "execution", "query processing would load too many samples into memory in query execution")
			return true
		}
		longest = max(longest, points)
		return false
	})
	whole := w.plain(t)
	_, pieces := mustPull(t, pull(client(t, Server{URL: limited}), t.TempDir(), "shop"))
	if refused == 0 || longest > 50 || longest < 20 {
		t.Errorf("%d queries were refused, the longest had %d points", refused, longest)
	}
	sameHistory(t, pieces, whole)

	c := client(t, Server{URL: w.url})
	c.MaxPoints = 77
	_, cut := mustPull(t, pull(c, t.TempDir(), "shop"))
	sameHistory(t, cut, whole)
}

// slow answers no range query in time that has more than so many points.
type slow struct {
	api.Client
	t      *testing.T
	points int
	asked  int
}

func (s *slow) Do(ctx context.Context, r *http.Request) (*http.Response, []byte, error) {
	if s.asked++; s.asked > 1 && pointsOf(s.t, r) > s.points { // the first is answered: somebody is there
		return nil, nil, context.DeadlineExceeded
	}
	return s.Client.Do(ctx, r)
}

func TestQueriesThatTakeTooLongAreCut(t *testing.T) {
	w := prometheus(t)
	for name, row := range map[string]struct {
		points int
		want   string
	}{
		"long ranges": {100, ""},
		"everything":  {0, "even 45 points take too long"},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, Server{URL: w.url, AtOnce: 1})
			c.retry.Client = &slow{Client: c.retry.Client, t: t, points: row.points}
			p := pull(c, t.TempDir(), "shop")
			p.Since, p.Scrape = 90*time.Minute, 15*time.Second
			var err error
			if p.Preset, err = Parse("own.yaml", []byte(onlyRate)); err != nil {
				t.Fatal(err)
			}
			_, err = p.Run(context.Background())
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}

// onlyRate is a preset of one query.
const onlyRate = `
version: 1
name: own
probe: istio_requests_total
service:
  label: destination_workload
  metrics:
    rate: sum by (destination_workload) (rate(istio_requests_total{destination_workload_namespace="$namespace"}[$window]))
`

// pointsOf is how many points a range query asks for.
func pointsOf(t *testing.T, r *http.Request) int {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body)) // for the server
	values, err := url.ParseQuery(string(body))
	if err != nil {
		t.Error(err)
	}
	if values.Has("time") {
		return 1 // a query of one instant
	}
	number := func(key string) float64 {
		v, err := strconv.ParseFloat(values.Get(key), 64)
		if err != nil {
			t.Error(err)
		}
		return v
	}
	return int((number("end")-number("start"))/number("step")) + 1
}

func TestRealServersOwnLimitsAndPassword(t *testing.T) {
	w := prometheus(t)
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "data"), os.DirFS(filepath.Join(w.dir, "data"))); err != nil {
		t.Fatal(err)
	}
	// The hash of "correct horse".
	web := filepath.Join(dir, "web.yml")
	if err := os.WriteFile(web, []byte("basic_auth_users:\n  reader: $2b$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	cmd, address, err := serve(dir, "--query.max-samples=5000", "--query.lookback-delta=20s", "--web.config.file="+web)
	if err != nil {
		t.Fatal(err)
	}
	defer stop(cmd)
	for password, right := range map[string]bool{"correct horse": true, "battery staple": false} {
		file := filepath.Join(dir, "password")
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c := client(t, Server{URL: address, Username: "reader", PasswordFile: file})
		p := pull(c, t.TempDir(), "shop")
		if !right {
			_, err := p.Run(context.Background())
			if !errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "battery") {
				t.Errorf("a wrong password: %v", err)
			}
			continue
		}
		whole := Span{Start: sim.Time(15 * time.Second), Step: p.Step, Steps: int(simulated / p.Step)}
		_, _, err := c.piece(context.Background(), `rate(istio_request_duration_milliseconds_bucket[1m])`, whole)
		if much := (errTooMuch{}); !errors.As(err, &much) || !strings.Contains(err.Error(), "too many samples") {
			t.Errorf("the server did not refuse a large query: %v", err)
		}
		_, got := mustPull(t, p)
		sameHistory(t, got, w.plain(t))
	}
}

func TestHeadersReachTheServer(t *testing.T) {
	w := prometheus(t)
	var tenant atomic.Value
	c := client(t, Server{Headers: map[string]string{"X-Scope-OrgID": "team-a"}, Token: "abc",
		URL: behindProxy(t, w, func(_ http.ResponseWriter, r *http.Request) bool {
			tenant.Store(r.Header.Get("X-Scope-OrgID") + " " + r.Header.Get("Authorization"))
			return false
		})})
	p := pull(c, t.TempDir(), "shop")
	p.Since = 2 * time.Minute
	report, _ := mustPull(t, p)
	if tenant.Load() != "team-a Bearer abc" {
		t.Errorf("headers %v", tenant.Load())
	}
	if strings.Contains(fmt.Sprint(report.Manifest), "abc") {
		t.Errorf("the token is in the manifest: %+v", report.Manifest)
	}
}

func TestInterruptionEndsAtOnce(t *testing.T) {
	w := prometheus(t)
	ctx, cancel := context.WithCancel(context.Background())
	release := make(chan struct{})
	url := behindProxy(t, w, func(http.ResponseWriter, *http.Request) bool {
		cancel()
		<-release // the server never answers
		return true
	})
	defer close(release)
	_, err := pull(client(t, Server{URL: url}), t.TempDir(), "shop").Run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
