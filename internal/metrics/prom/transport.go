package prom

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/api"
)

// Waits between attempts: they double from the first to the longest. A server
// that asks for more patience than that is told to the user instead.
const (
	firstWait   = 500 * time.Millisecond
	longestWait = 30 * time.Second
	mostAsked   = 5 * time.Minute
)

// maxBody is the largest answer that is read: more is asked for in pieces.
const maxBody = 64 << 20

var errTooLarge = errors.New("the answer is too large")

// retrier tries again what may succeed the next time: a server that is busy,
// restarts or cuts an answer short. Everything else comes back at once.
type retrier struct {
	api.Client
	attempts int
	timeout  time.Duration
	reached  atomic.Bool // the server has answered before

	wait func(context.Context, time.Duration) error
}

func newRetrier(c api.Client, s Server) *retrier {
	return &retrier{Client: c, attempts: s.Attempts, timeout: s.Timeout, wait: sleep}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// outcome is what became of a request, beyond what the API's error tells.
type outcome struct {
	code     int // of the last answer; 0 = there was none
	attempts int
	asked    time.Duration // patience that the server asked for
	body     string        // beginning of an answer that was no success
	location *url.URL      // where an answer redirects to; nil = nowhere
}

type outcomeKey struct{}

func withOutcome(ctx context.Context) (context.Context, *outcome) {
	o := &outcome{}
	return context.WithValue(ctx, outcomeKey{}, o), o
}

// Do sends a request until it is answered for good.
func (r *retrier) Do(ctx context.Context, req *http.Request) (*http.Response, []byte, error) {
	return r.until(ctx, req, r.Client.Do)
}

// sender makes one attempt at a request.
type sender func(context.Context, *http.Request) (*http.Response, []byte, error)

func (r *retrier) until(ctx context.Context, req *http.Request, send sender) (*http.Response, []byte, error) {
	seen, _ := ctx.Value(outcomeKey{}).(*outcome)
	if seen == nil {
		seen = &outcome{}
	}
	attempts := r.attempts
	if !r.reached.Load() {
		attempts = min(attempts, 3) // a wrong address is told soon
	}
	for attempt := 1; ; attempt++ {
		again, err := rewind(req)
		if err != nil {
			return nil, nil, err
		}
		resp, body, err := r.once(ctx, again, send)
		seen.attempts, seen.code, seen.asked, seen.location = attempt, 0, 0, nil
		if resp != nil {
			seen.code = resp.StatusCode
			seen.location, _ = resp.Location() // an error means that there is none
			if err == nil && resp.StatusCode/100 != 2 {
				seen.body = string(body[:min(len(body), 2000)])
				seen.asked = retryAfter(resp.Header.Get("Retry-After"), time.Now())
			}
		}
		if ctx.Err() != nil {
			return resp, nil, ctx.Err()
		}
		if !passing(resp, body, err) {
			if err == nil && resp.StatusCode/100 == 2 {
				r.reached.Store(true)
			}
			return resp, body, err
		}
		if attempt >= attempts || seen.asked > mostAsked {
			if err == nil && resp.StatusCode/100 == 2 {
				err = errCut
			}
			return resp, body, err
		}
		if err := r.wait(ctx, backOff(attempt, seen.asked)); err != nil {
			return nil, nil, err
		}
	}
}

// once is one attempt, with its own time limit.
func (r *retrier) once(ctx context.Context, req *http.Request, send sender) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return send(ctx, req)
}

func rewind(req *http.Request) (*http.Request, error) {
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		again.Body = body
	}
	return again, nil
}

// checkRedirect follows a redirect only to the same request on the same server, or from http to https
// of the same host, both at their usual ports. Another server, which another port of the host may be,
// would get the credentials, plain text would show them, and another path, most often a login page,
// has no answer: such a redirect is reported (explain).
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) < 5 && sameServer(first.URL, req.URL) && req.URL.Path == first.URL.Path && req.Method == first.Method {
		return nil
	}
	return http.ErrUseLastResponse
}

func sameServer(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	upgraded := from.Scheme == "http" && to.Scheme == "https" && portOf(from) == "80" && portOf(to) == "443"
	return upgraded || from.Scheme == to.Scheme && portOf(from) == portOf(to)
}

// portOf a URL, which may leave out that of its scheme.
func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// passing says whether a failure may pass by itself.
func passing(resp *http.Response, body []byte, err error) bool {
	if errors.Is(err, errTooLarge) || errors.Is(err, errAnswer) || isTLS(err) || errors.Is(err, context.DeadlineExceeded) {
		return false // a query that takes too long is cut instead
	}
	if err != nil {
		var u *url.Error
		return !errors.As(err, &u) || !strings.Contains(u.Err.Error(), "unsupported protocol")
	}
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return true
	case code >= 500:
		// A query that is too heavy for the server stays so: it is cut instead.
		return code != http.StatusNotImplemented && !tooMuch(string(body))
	case code/100 == 2:
		// A proxy may cut an answer short without anybody's noticing.
		return looksCut(body)
	}
	return false
}

// looksCut says whether an answer began as JSON and never ended.
func looksCut(body []byte) bool {
	body = bytes.TrimSpace(body)
	return len(body) > 0 && body[0] == '{' && (body[len(body)-1] != '}' || len(body) < 4096 && !json.Valid(body))
}

// backOff is how long to wait before the next attempt: what the server asks
// for, or twice as long each time, a little by chance so that several waiting
// clients do not come back together.
func backOff(attempt int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	d := min(firstWait<<min(attempt-1, 10), longestWait)
	return d/2 + rand.N(d/2)
}

// retryAfter reads the header: seconds, or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 && seconds < 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// bounded refuses to read more than maxBody of an answer, or less of one that is decoded as a whole.
type bounded struct {
	http.RoundTripper
	buffered int
}

func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(req)
	if err == nil {
		most := b.buffered
		if isStreamed(req.Context()) {
			most = maxBody
		}
		resp.Body = &boundedBody{ReadCloser: resp.Body, most: most, left: most}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	most, left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 { // a reader that takes what comes with an error would read on for ever
		return 0, fmt.Errorf("%w: more than %d KB", errTooLarge, b.most>>10)
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= n
	return n, err
}
