package realapp

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/loadline/loadline"
)

// Connections keep so many connections to one host, each with one request at a time. A request takes
// one of them, drawn at random, as in the event engine.
type Connections struct {
	lifetime time.Duration // 0 = for good
	lock     sync.Mutex
	rng      *rand.Rand
	all      []connection
}

type connection struct {
	transport *http.Transport
	opened    time.Time
}

// NewConnections are those of the users of an application.
func NewConnections(k loadline.KeepAlive, rng *rand.Rand) *Connections {
	return &Connections{lifetime: k.Lifetime, rng: rng, all: make([]connection, max(k.Users, 1))}
}

// RoundTrip sends a request.
func (c *Connections) RoundTrip(q *http.Request) (*http.Response, error) {
	return c.choose(time.Now()).RoundTrip(q)
}

// choose draws a connection, and replaces it if it has expired.
func (c *Connections) choose(now time.Time) *http.Transport {
	c.lock.Lock()
	defer c.lock.Unlock()
	k := &c.all[c.rng.IntN(len(c.all))]
	if k.transport != nil && c.lifetime > 0 && now.Sub(k.opened) > c.lifetime {
		k.transport.CloseIdleConnections()
		k.transport = nil
	}
	if k.transport == nil {
		*k = connection{&http.Transport{MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, DisableCompression: true}, now}
	}
	return k.transport
}
