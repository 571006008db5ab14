// Package notify tells other systems what happens to applications: a webhook gets each notice
// once, an Alertmanager gets alerts that begin and end.
//
// A notice never delays a pass: Send puts it into a bounded queue for each receiver and
// returns. Each receiver has its own goroutine, tries again with exponential back-off, and
// gives a notice up after a while; what is dropped is counted and logged.
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Kinds of notices.
const (
	Rung      = "rung"      // the policy is not in control; over when it is again
	Promotion = "promotion" // a model was refused
	Drift     = "drift"     // the application no longer behaves as its twin
	Burn      = "burn"      // the error budget burns
)

// Notice is what happened to an application, or that it is over.
type Notice struct {
	At        time.Time `json:"at"`
	Namespace string    `json:"namespace"`
	LoadLine  string    `json:"loadline"`
	Kind      string    `json:"kind"`
	Resolved  bool      `json:"resolved"`
	Severity  string    `json:"severity"` // info, warning or critical
	Summary   string    `json:"summary"`
	Detail    string    `json:"detail,omitempty"`
}

// Limits of a receiver.
const (
	mostWaiting = 256 // notices
	mostActive  = 4096
	firstRetry  = time.Second
	lastRetry   = time.Minute
	giveUpAfter = time.Hour
	sendWithin  = 10 * time.Second
	// renewEvery is how often an Alertmanager is told of alerts that have not ended. It takes those
	// that it no longer hears of for endsAfter as ended.
	renewEvery = time.Minute
	endsAfter  = 5 * time.Minute
)

// Options of a Notifier.
type Options struct {
	Webhook          string // URL; "" = none
	WebhookToken     string // file with a bearer token; "" = none
	Alertmanager     string // URL of a server, without /api; "" = none
	AlertmanagerAuth string // file with a bearer token; "" = none

	Client *http.Client // nil = one without proxies, that follows no redirects
	Log    *slog.Logger
	Now    func() time.Time
}

// Validate returns all errors.
func (o Options) Validate() error {
	var faults []error
	for _, row := range []struct{ name, address, token string }{{"webhook", o.Webhook, o.WebhookToken},
		{"Alertmanager", o.Alertmanager, o.AlertmanagerAuth}} {
		u, err := url.Parse(row.address)
		switch {
		case row.address == "" && row.token != "":
			faults = append(faults, fmt.Errorf("a token for the %s needs its address", row.name))
		case row.address == "":
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			faults = append(faults, fmt.Errorf("the address of the %s must be a URL such as https://alerts.example.com", row.name))
		case u.User != nil:
			faults = append(faults, fmt.Errorf("the address of the %s has credentials: put a token into a file", row.name))
		}
	}
	return errors.Join(faults...)
}

// Notifier sends notices to all receivers.
type Notifier struct {
	options   Options
	receivers []*receiver
	dropped   atomic.Int64
}

// receiver is one system that is told.
type receiver struct {
	n       *Notifier
	name    string
	url     string
	token   string // file
	encode  func([]Notice, time.Time) any
	renews  bool
	queue   chan Notice
	mu      sync.Mutex
	active  map[string]Notice // that have begun and not ended
	retries func(int) time.Duration
}

// New returns a notifier; nil without receivers.
func New(o Options) (*Notifier, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("notify: %w", err)
	}
	if o.Client == nil {
		o.Client = &http.Client{
			Timeout: sendWithin, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConns: 4, IdleConnTimeout: time.Minute},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a token is for one server
		}
	}
	n := &Notifier{options: o}
	if o.Webhook != "" {
		n.add(&receiver{name: "webhook", url: o.Webhook, token: o.WebhookToken, encode: webhookBody})
	}
	if o.Alertmanager != "" {
		n.add(&receiver{name: "Alertmanager", url: strings.TrimSuffix(o.Alertmanager, "/") + "/api/v2/alerts", token: o.AlertmanagerAuth,
			encode: alertsBody, renews: true})
	}
	if len(n.receivers) == 0 {
		return nil, nil
	}
	return n, nil
}

func (n *Notifier) add(r *receiver) {
	r.n, r.queue, r.active, r.retries = n, make(chan Notice, mostWaiting), map[string]Notice{}, backOff
	n.receivers = append(n.receivers, r)
}

// backOff is the time before a further attempt.
func backOff(attempt int) time.Duration { return min(firstRetry<<min(attempt, 10), lastRetry) }

// Send a notice to all receivers, without waiting for them. A nil Notifier sends nothing.
func (n *Notifier) Send(notice Notice) {
	if n == nil {
		return
	}
	for _, r := range n.receivers {
		select {
		case r.queue <- notice:
		default:
			n.drop(r, notice, errors.New("too many are waiting"))
		}
	}
}

// Dropped is how many notices did not reach a receiver.
func (n *Notifier) Dropped() int64 { return n.dropped.Load() }

func (n *Notifier) drop(r *receiver, notice Notice, why error) {
	n.dropped.Add(1)
	n.options.Log.Warn("notice dropped", "receiver", r.name, "loadline", notice.Namespace+"/"+notice.LoadLine, "kind",
		notice.Kind, "error", why)
}

// Start sends what waits until the context ends. It runs in the process that decides.
func (n *Notifier) Start(ctx context.Context) error {
	var all sync.WaitGroup
	for _, r := range n.receivers {
		all.Go(func() { r.run(ctx) })
	}
	all.Wait()
	return nil
}

func (r *receiver) run(ctx context.Context) {
	renew := time.NewTicker(renewEvery)
	defer renew.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case notice := <-r.queue:
			r.remember(notice)
			r.deliver(ctx, notice)
		case <-renew.C:
			if all := r.unended(); r.renews && len(all) > 0 {
				if err := r.post(ctx, all); err != nil && ctx.Err() == nil {
					r.n.options.Log.Warn("alerts not renewed", "receiver", r.name, "alerts", len(all), "error", err)
				}
			}
		}
	}
}

// deliver a notice, with further attempts for some time.
func (r *receiver) deliver(ctx context.Context, notice Notice) {
	began := r.n.options.Now()
	for attempt := 0; ; attempt++ {
		err := r.post(ctx, []Notice{notice})
		var final permanentError
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case errors.As(err, &final) || r.n.options.Now().Sub(began) > giveUpAfter:
			r.n.drop(r, notice, err)
			return
		}
		r.n.options.Log.Debug("notice not sent yet", "receiver", r.name, "attempt", attempt+1, "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.retries(attempt)):
		}
	}
}

func (n Notice) key() string { return n.Namespace + "/" + n.LoadLine + "/" + n.Kind }

func (r *receiver) remember(n Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.Resolved || !r.renews {
		delete(r.active, n.key())
	} else if len(r.active) < mostActive {
		r.active[n.key()] = n
	}
}

// unended alerts. A refused model is an event, not a state that lasts.
func (r *receiver) unended() []Notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Notice
	for key, n := range r.active {
		if n.Kind == Promotion && r.n.options.Now().Sub(n.At) > endsAfter {
			delete(r.active, key)
			continue
		}
		all = append(all, n)
	}
	return all
}

// permanentError: the receiver will never accept it.
type permanentError struct{ error }

// post to the receiver. The error has nothing of the token, and of the address the host only.
func (r *receiver) post(ctx context.Context, notices []Notice) error {
	body, err := json.Marshal(r.encode(notices, r.n.options.Now()))
	if err != nil {
		return permanentError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return permanentError{errors.New("the address cannot be used")}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "loadline")
	if r.token != "" {
		token, err := os.ReadFile(r.token) // each time: a mounted Secret changes
		if err != nil {
			return fmt.Errorf("token: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	answer, err := r.n.options.Client.Do(request)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err // without the address, which may have a secret in its path
		}
		return err
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, 512))
	switch code := answer.StatusCode; {
	case code < 300:
		return nil
	case code >= 300 && code < 500 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests &&
		code != http.StatusUnauthorized && code != http.StatusForbidden && code != http.StatusNotFound: // those may be mended
		return permanentError{fmt.Errorf("%s: %s", answer.Status, bytes.TrimSpace(said))}
	}
	return fmt.Errorf("%s", answer.Status)
}

// webhookBody is one notice as it is.
func webhookBody(notices []Notice, _ time.Time) any { return notices[0] }

// alert is one of Alertmanager's API, version 2.
type alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

// alertsBody names each alert after its kind. Labels identify it, so that they have nothing that
// changes.
func alertsBody(notices []Notice, now time.Time) any {
	names := map[string]string{Rung: "LoadlineRung", Promotion: "LoadlinePromotionRefused", Drift: "LoadlineDrift", Burn: "LoadlineBurn"}
	list := []alert{}
	for _, n := range notices {
		a := alert{
			Labels: map[string]string{"alertname": names[n.Kind], "namespace": n.Namespace, "loadline": n.LoadLine, "severity": n.Severity,
				"source": "loadline"},
			Annotations: map[string]string{"summary": n.Summary, "description": n.Detail}, StartsAt: n.At, EndsAt: now.Add(endsAfter),
		}
		if n.Resolved {
			a.StartsAt, a.EndsAt = n.At.Add(-time.Second), n.At
		}
		list = append(list, a)
	}
	return list
}
