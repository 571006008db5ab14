package knative

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline"
)

const (
	// tick is how often a rule decides, as Knative's autoscaler does.
	tick = 2 * time.Second
	// second is how often queue-proxies and activators are read: their reports cover one.
	second = time.Second
	// answerWithin is how long one of them may take.
	answerWithin = 3 * time.Second
	// scrapesAtOnce limits open requests.
	scrapesAtOnce = 64
	// findEvery is how often activators are looked up.
	findEvery = 10 * time.Second

	// QueuePort is where queue-proxies report.
	QueuePort        = 9090
	activatorService = "activator-service"
	activatorPort    = "http-metrics"
)

// Scraper reads queue-proxies and activators.
type Scraper struct {
	Live      client.Reader
	Namespace string // of Knative Serving
	HTTP      *http.Client
	QueuePort int
	Now       func() time.Time

	found   []string // addresses of activators
	foundAt time.Time
	before  map[string]answered // by activator
}

// answered is what an activator had answered at an instant, since its start.
type answered struct {
	at time.Time
	of map[Revision]Proxied
}

// NewScraper reads with connections that are kept open.
func NewScraper(live client.Reader, namespace string, now func() time.Time) *Scraper {
	transport := &http.Transport{
		DialContext:  (&net.Dialer{Timeout: answerWithin}).DialContext,
		MaxIdleConns: 1000, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
	}
	return &Scraper{Live: live, Namespace: namespace, HTTP: &http.Client{Transport: transport, Timeout: answerWithin},
		QueuePort: QueuePort, Now: now, before: map[string]answered{}}
}

// pods reads the queue-proxies of addresses, in their order; nil = it did not answer.
func (s *Scraper) pods(ctx context.Context, addresses []string) []*Stat {
	stats := make([]*Stat, len(addresses))
	each(len(addresses), func(i int) {
		url := "http://" + net.JoinHostPort(addresses[i], strconv.Itoa(s.QueuePort)) + "/metrics"
		_ = s.get(ctx, url, "application/protobuf", func(body io.Reader) error {
			stat, err := ParseStat(body)
			if err == nil {
				stats[i] = &stat
			}
			return err
		})
	})
	return stats
}

// Activators is the load of all activators by revision.
type Activators struct {
	// Err is why it is not complete; nil = it is.
	Err error
	Of  map[Revision]Proxied // Requests is per second
}

// Activators reads all of them.
func (s *Scraper) Activators(ctx context.Context) Activators {
	all := Activators{Of: map[Revision]Proxied{}}
	addresses, err := s.find(ctx)
	if err != nil {
		return Activators{Err: err}
	}
	if len(addresses) == 0 {
		return Activators{Err: fmt.Errorf("service %s/%s has no ready endpoint with the port %s", s.Namespace, activatorService, activatorPort)}
	}
	var mu sync.Mutex
	now := s.Now()
	each(len(addresses), func(i int) {
		var of map[Revision]Proxied
		err := s.get(ctx, "http://"+addresses[i]+"/metrics", "text/plain", func(body io.Reader) (err error) {
			of, err = ParseActivator(body)
			return err
		})
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			all.Err = errors.Join(all.Err, fmt.Errorf("activator %s: %w", addresses[i], err))
			return
		}
		was := s.before[addresses[i]]
		s.before[addresses[i]] = answered{now, of}
		for r, p := range of {
			sum := all.Of[r]
			sum.Concurrency += max(p.Concurrency, p.Queued)
			sum.Queued += p.Queued
			sum.Requests += rate(p.Requests, was.of[r].Requests, now.Sub(was.at)) + p.Queued
			all.Of[r] = sum
		}
	})
	maps.DeleteFunc(s.before, func(_ string, a answered) bool { return now.Sub(a.at) > time.Minute })
	return all
}

// rate of a counter that may have begun again. Without an earlier value it is 0.
func rate(now, before float64, since time.Duration) float64 {
	if since <= 0 || since > time.Minute {
		return 0
	}
	if now < before {
		before = 0
	}
	return (now - before) / since.Seconds()
}

// find the metrics endpoints of activators. It keeps those that it found while the API server is
// away.
func (s *Scraper) find(ctx context.Context) ([]string, error) {
	now := s.Now()
	if len(s.found) > 0 && now.Sub(s.foundAt) < findEvery {
		return s.found, nil
	}
	var slices discoveryv1.EndpointSliceList
	if err := s.Live.List(ctx, &slices, client.InNamespace(s.Namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: activatorService}); err != nil {
		if len(s.found) > 0 {
			return s.found, nil
		}
		return nil, fmt.Errorf("find activators: %w", err)
	}
	s.found, s.foundAt = nil, now
	for _, slice := range slices.Items {
		for _, port := range slice.Ports {
			if port.Name == nil || *port.Name != activatorPort || port.Port == nil {
				continue
			}
			for _, e := range slice.Endpoints {
				if e.Conditions.Ready != nil && !*e.Conditions.Ready || len(e.Addresses) == 0 {
					continue
				}
				s.found = append(s.found, net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*port.Port))))
			}
		}
	}
	return s.found, nil
}

func (s *Scraper) get(ctx context.Context, url, accept string, read func(io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", accept)
	answer, err := s.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, answer.Status)
	}
	return read(io.LimitReader(answer.Body, 64<<20))
}

// each runs a function for every index, several at once, and waits.
func each(n int, do func(i int)) {
	places := make(chan struct{}, scrapesAtOnce)
	var wait sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			do(i)
		})
	}
	wait.Wait()
}

// loadOf a revision in its metric.
func loadOf(metric string, at time.Time, ready int, stats []Stat, all Activators, r Revision) Load {
	l := Load{At: at, Ready: ready}
	for _, s := range stats {
		direct, either := s.Concurrency-s.ProxiedConcurrency, s.Concurrency
		if metric == "rps" {
			direct, either = s.Requests-s.ProxiedRequests, s.Requests
		}
		l.Direct, l.All = append(l.Direct, max(direct, 0)), append(l.All, either)
	}
	held := all.Of[r].Concurrency
	if metric == "rps" {
		held = all.Of[r].Requests
	}
	l.Waiting = held
	if all.Err == nil {
		l.Activators = loadline.Some(held)
	}
	return l
}
