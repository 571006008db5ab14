package realapp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/suggest"
)

// Server is one replica of a service.
type Server struct {
	app     *loadline.App
	service int
	callee  func(service string) string
	client  *http.Client
	gate    *gate
	base    *held // the memory of an idle replica
	ready   atomic.Bool
	shown   *exposition
	budget  retryBudget

	cpu, wait sim.Sampler

	lock sync.Mutex
	rng  *rand.Rand
}

// Settings of a Server.
type Settings struct {
	App     *loadline.App
	Service string
	Seed    uint64
	// Callee is the address of a service, host:port; nil = its name, at Port.
	Callee func(service string) string
}

// Port that servers listen on in a cluster.
const Port = 8080

// New makes a server. It is not ready before Start has ended.
func New(s Settings) (*Server, error) {
	service := s.App.ServiceIndex(s.Service)
	if service < 0 {
		var names []string
		for i := range s.App.Services {
			names = append(names, s.App.Services[i].Name)
		}
		return nil, fmt.Errorf("%s has no service %q%s", s.App.Name, s.Service, suggest.Hint(s.Service, names))
	}
	of := &s.App.Services[service]
	callee := s.Callee
	if callee == nil {
		callee = func(service string) string { return net.JoinHostPort(service, strconv.Itoa(Port)) }
	}
	connections := 100
	if k := s.App.KeepAlive; k.Connections > 0 {
		connections = k.Connections
	}
	return &Server{
		app: s.App, service: service, callee: callee,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, IdleConnTimeout: time.Minute}},
		gate:   newGate(of.Workers, of.Backlog), shown: newExposition(s.App),
		budget: retryBudget{tokens: budgetDepth},
		cpu:    sim.NewSampler(of.CPU), wait: sim.NewSampler(of.Wait),
		rng: rand.New(rand.NewPCG(s.Seed, uint64(service))),
	}, nil
}

// Start holds the memory of an idle replica and does the work of a start, after which the server is
// ready. Its idle work ends with the context.
func (s *Server) Start(ctx context.Context) error {
	of := &s.app.Services[s.service]
	base, err := hold(of.Memory.Base)
	if err != nil {
		return err
	}
	s.base = base
	startup := sim.NewSampler(of.Startup)
	s.lock.Lock()
	takes := startup.DrawTime(s.rng, 1)
	s.lock.Unlock()
	if of.StartupCPU > 0 {
		burnOn(of.StartupCPU, takes)
	} else {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.ready.Store(true)
	if of.IdleCPU > 0 {
		go idle(ctx, of.IdleCPU)
	}
	return nil
}

// idlePeriod is how often an idle replica works.
const idlePeriod = 100 * time.Millisecond

// idle uses a few millicores for as long as the server lives.
func idle(ctx context.Context, cores float64) {
	tick := time.NewTicker(idlePeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			burnOn(cores, idlePeriod)
		case <-ctx.Done():
			return
		}
	}
}

// Ready reports whether the start has ended.
func (s *Server) Ready() bool { return s.ready.Load() }

// ServeHTTP answers visits at /KIND/STAGE.CALL/..., probes at /ready and scrapes at /metrics.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/ready":
		if !s.Ready() {
			http.Error(w, "starting", http.StatusServiceUnavailable)
		}
	case "/metrics":
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		s.shown.write(w, s.gate)
	default:
		s.serveVisit(w, r)
	}
}

func (s *Server) serveVisit(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	kind, call, err := s.find(r.URL.Path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	code := http.StatusOK
	switch {
	case !s.Ready():
		code = http.StatusServiceUnavailable
	default:
		// A caller that has given up does not end the work.
		code = s.visit(context.WithoutCancel(r.Context()), r.URL.Path, call)
	}
	s.shown.served(kind, code, time.Since(began))
	if code != http.StatusOK {
		http.Error(w, http.StatusText(code), code)
	}
}

// find the call of a path.
func (s *Server) find(path string) (kind int, call *loadline.Call, err error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	kind = s.app.KindIndex(parts[0])
	if kind < 0 {
		return 0, nil, fmt.Errorf("no kind of request %q", parts[0])
	}
	call = &s.app.Kinds[kind].Root
	for _, part := range parts[1:] {
		first, second, _ := strings.Cut(part, ".")
		stage, err1 := strconv.Atoi(first)
		n, err2 := strconv.Atoi(second)
		if err1 != nil || err2 != nil || stage < 0 || stage >= len(call.Stages) || n < 0 || n >= len(call.Stages[stage]) {
			return 0, nil, fmt.Errorf("no call %s in %s", part, path)
		}
		call = &call.Stages[stage][n]
	}
	if call.Service != s.service {
		return 0, nil, fmt.Errorf("%s is a call of %s, and this is %s", path, s.app.Services[call.Service].Name, s.app.Services[s.service].Name)
	}
	return kind, call, nil
}
