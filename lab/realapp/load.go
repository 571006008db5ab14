package realapp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/loadline/loadline/internal/apps"
)

// Load is what a process that sends users' requests is asked for.
type Load struct {
	Model    string            // of the application, as YAML
	Entries  map[string]string // addresses of services, host:port
	Start    time.Time
	Arrivals []Arrival
	// Fresh gives each request a connection of its own. Otherwise the model's connections are kept,
	// or as many as there are requests at once.
	Fresh bool
	Seed  uint64
}

// Generate reads a Load, sends it and writes the answers: the whole of a generator's process.
func Generate(ctx context.Context, in io.Reader, out io.Writer) error {
	if err := Prepare(); err != nil {
		return err
	}
	var l Load
	if err := json.NewDecoder(in).Decode(&l); err != nil {
		return fmt.Errorf("read the load: %w", err)
	}
	m, err := apps.Parse("load", []byte(l.Model))
	if err != nil {
		return err
	}
	g := Generator{
		App: m.App, Entry: func(service string) string { return l.Entries[service] },
		Client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 16, DisableKeepAlives: l.Fresh, DisableCompression: true}},
		Sleep:  func(until time.Time) { wait(time.Until(until)) },
	}
	if k := m.App.KeepAlive; k.Users > 0 {
		g.Client.Transport = NewConnections(k, rand.New(rand.NewPCG(l.Seed, 1)))
	}
	return json.NewEncoder(out).Encode(g.Send(ctx, l.Start, l.Arrivals))
}
