// Package prom reads an application's past from Prometheus, or from anything
// that answers as it does (Thanos, Mimir, VictoriaMetrics), into a history.
//
// Reading order: client.go (one server), connect.go (how to reach it), allow.go (where it may be), transport.go
// (retries), budget.go (memory of answers), each.go and vector.go (answers for one instant, read as they
// arrive), fault.go (what a refusal means), ranges.go (range queries cut to
// the server's limits), preset.go (which query yields which metric; presets/
// has them as data), presetfile.go (their format), detect.go (which preset
// fits, how often it was scraped), part.go (a stretch of the past), pull.go
// (all of it, resumable), autoscalers.go (what scales the services), absence.go (what was not there, and what it costs),
// present.go (what is asked about now, by internal/metrics/live).
package prom

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// Server is a Prometheus and how to reach it. Secrets are files that are read
// again at every request, so that tokens which are renewed stay good, or values
// that came from the environment; they are never written anywhere.
type Server struct {
	URL   string // base URL, without /api/v1
	Shown string // in messages instead of the URL, where that is a proxy's; empty = the URL

	TokenFile, Token       string // bearer token; a file wins
	Username               string
	PasswordFile, Password string
	CAFile                 string
	CertFile, KeyFile      string // client certificate
	CA, Cert, Key          string // the same as PEM, for those who have no files
	ServerName             string
	Insecure               bool
	Headers                map[string]string // X-Scope-OrgID and the like

	// Unquoted leaves out of messages what a server answers: others may read them than those who may
	// ask it.
	Unquoted bool

	AtOnce   int           // requests; 0 = 4
	Attempts int           // of one request; 0 = 8
	Timeout  time.Duration // of one attempt; 0 = 2 min
}

// Defaults of a Server.
const (
	DefaultAtOnce   = 4
	defaultAttempts = 8
	defaultTimeout  = 2 * time.Minute
)

// Client asks one server.
type Client struct {
	server Server
	api    v1.API
	direct *http.Client
	slots  chan struct{}
	bound  *bounded
	budget *Budget // nil = none

	// MaxPoints is how many points of one series a query asks for at most;
	// Prometheus refuses more than 11,000. MaxSamples is how many of all series
	// together: it bounds memory.
	MaxPoints, MaxSamples int

	retry *retrier
}

// Validate says everything that is wrong with how a server is to be reached.
func (s Server) Validate() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	u, err := url.Parse(s.URL)
	switch {
	case s.URL == "":
		add("no Prometheus is given; must be a URL such as http://localhost:9090")
	case err != nil:
		add("Prometheus URL cannot be read; must be http:// or https://, host and port: %w", withoutURL(err))
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		add("Prometheus URL %q must begin with http:// or https:// and have a host", u.Redacted())
	case u.User != nil:
		add("Prometheus URL has credentials in it; use --user and --password-file, so that they appear in no log")
	case u.RawQuery != "" || u.Fragment != "":
		add("Prometheus URL must end with its path: what follows ? or # is not used (use --header for tenants)")
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/api/v1"):
		add("Prometheus URL %q must be given without /api/v1", s.URL)
	}
	if (s.TokenFile != "" || s.Token != "") && s.Username != "" {
		add("a bearer token and a user are given; must be one of them")
	}
	if (s.PasswordFile != "" || s.Password != "") && s.Username == "" {
		add("a password is given without a user")
	}
	if (s.CertFile == "") != (s.KeyFile == "") || (s.Cert == "") != (s.Key == "") {
		add("a client certificate needs its certificate file and its key file")
	}
	for _, file := range []string{s.TokenFile, s.PasswordFile, s.CAFile, s.CertFile, s.KeyFile} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			add("%w", err)
		}
	}
	for name, value := range s.Headers {
		if name == "" || strings.ContainsAny(name+value, "\r\n") {
			add("header %q must be NAME=VALUE on one line", name)
		}
		if http.CanonicalHeaderKey(name) == "Authorization" {
			add("header Authorization must not be given: use --token-file or --user")
		}
	}
	return errors.Join(faults...)
}

// withoutURL keeps a URL's secrets out of the message that it is malformed.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// NewClient makes a client. Nothing is asked yet.
func NewClient(s Server) (*Client, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if s.AtOnce <= 0 {
		s.AtOnce = DefaultAtOnce
	}
	if s.Attempts <= 0 {
		s.Attempts = defaultAttempts
	}
	if s.Timeout <= 0 {
		s.Timeout = defaultTimeout
	}
	rt, err := connect(s)
	if err != nil {
		return nil, fmt.Errorf("prepare to reach Prometheus: %w", err)
	}
	bound := &bounded{rt, maxBody}
	direct := &http.Client{Transport: bound, CheckRedirect: checkRedirect}
	plain, err := api.NewClient(api.Config{Address: s.URL, Client: direct})
	if err != nil {
		return nil, err
	}
	retry := newRetrier(plain, s)
	return &Client{
		server: s, api: v1.NewAPI(retry), direct: direct, slots: make(chan struct{}, s.AtOnce), bound: bound, retry: retry,
		MaxPoints: 11000, MaxSamples: 100_000,
	}, nil
}

// Share a budget with other clients. It must be called before anything is asked. Answers that are
// decoded as a whole are small then: those to queries for an instant are not (Each).
func (c *Client) Share(b *Budget) { c.budget, c.bound.buffered = b, bufferedAnswer }

// AtOnce is how many requests are under way at most.
func (c *Client) AtOnce() int { return c.server.AtOnce }

// URL is where the server is.
func (c *Client) URL() string { return cmp.Or(c.server.Shown, c.server.URL) }

// Source is how a history names the server: where it is, no credentials.
func (c *Client) Source() string { return "prometheus " + c.URL() }

// Query asks for one instant.
func (c *Client) Query(ctx context.Context, query string, at time.Time) (model.Vector, error) {
	var found model.Vector
	err := c.ask(ctx, func(ctx context.Context) error {
		v, _, err := c.api.Query(ctx, query, at)
		if err != nil {
			return err
		}
		vector, ok := v.(model.Vector)
		if !ok {
			return fmt.Errorf("the answer is a %s, not a vector", v.Type())
		}
		found = vector
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", short(query), err)
	}
	return found, nil
}

// LabelValues lists the values that a label has.
func (c *Client) LabelValues(ctx context.Context, label string, from, to time.Time) ([]string, error) {
	var values []string
	err := c.ask(ctx, func(ctx context.Context) error {
		list, _, err := c.api.LabelValues(ctx, label, nil, from, to)
		values = values[:0]
		for _, v := range list {
			values = append(values, string(v))
		}
		return err
	})
	return values, err
}

// ask runs one request when a slot is free, and says what a failure means.
func (c *Client) ask(ctx context.Context, request func(context.Context) error) error {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	charge := int64(bufferedCharge)
	if isStreamed(ctx) {
		charge = streamedCharge
	}
	if err := c.budget.acquire(ctx, charge); err != nil {
		return err
	}
	defer c.budget.release(charge)
	ctx, seen := withOutcome(ctx)
	if err := request(ctx); err != nil {
		return c.explain(ctx, err, seen)
	}
	return nil
}

// short keeps messages readable.
func short(query string) string {
	query = strings.Join(strings.Fields(query), " ")
	const most = 160
	if runes := []rune(query); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return query
}
