package controller

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/fleet/teacher"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// FleetOptions say where students and teachers meet.
type FleetOptions struct {
	// Config of every application's fleet; its name begins theirs. Without a URL the
	// server is in this process.
	Config fleet.Config
	// Server in this process, for the first who needs it. Its folder also holds what
	// teachers keep.
	Server fleet.ServerConfig
	// Refusal is why students may not decide here; empty = they may.
	Refusal string
	Teach   bool // teachers are in this process
	// Class, if set, changes how a teacher learns.
	Class func(*teacher.Config)
	Now   func() time.Time
}

// Fleet is where the students of all applications meet their teachers. The server
// starts with the first of them, so that nobody pays for it who has none.
type Fleet struct {
	FleetOptions
	life    context.Context
	end     context.CancelFunc
	leaving sync.WaitGroup // members that still hand over what they did

	mu      sync.Mutex
	server  *fleet.Server
	lessons map[string]*lesson // by name of the fleet
	closed  bool
}

// NewFleet meets nobody yet.
func NewFleet(o FleetOptions) *Fleet {
	life, end := context.WithCancel(context.Background())
	return &Fleet{FleetOptions: o, life: life, end: end, lessons: map[string]*lesson{}}
}

// open a link to the fleet of one application.
func (f *Fleet) open(name, client string) (*fleet.Link, error) {
	config := f.Config
	config.Name, config.Client = name, client
	if config.URL == "" {
		server, err := f.serve()
		if err != nil {
			return nil, err
		}
		config.Server = server
	}
	return fleet.Open(config)
}

// serve starts the server in this process, once.
func (f *Fleet) serve() (*fleet.Server, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errors.New("the process is ending")
	}
	if f.server != nil {
		return f.server, nil
	}
	if f.Server.Folder == "" {
		return nil, errors.New("the NATS server in this process has no folder: give --fleet-store, or --nats with servers of your own")
	}
	server, err := fleet.Serve(f.Server)
	if err != nil {
		return nil, err
	}
	f.server = server
	return server, nil
}

// join lets the students of a model decide for an application, as part of a fleet.
// It waits for nobody: servers may come later. The twin, if there is one, is the
// world that a teacher in this process thinks in.
func (f *Fleet) join(name string, m *drpc.Model, app, twin *loadline.App) (*member, error) {
	link, err := f.open(name, "loadline run")
	if err != nil {
		return nil, err
	}
	epoch := uint64(f.Now().UnixNano())
	agent, err := fleet.NewAgent(link, m, app, drpc.Work{}, epoch)
	if err != nil {
		link.Close()
		return nil, err
	}
	agent.Hold = true
	ctx, cancel := context.WithCancel(f.life)
	member := &member{fleet: f, name: name, agent: agent, link: link, cancel: cancel}
	member.atWork.Go(func() { agent.Run(ctx) })
	if member.witness, member.unwitnessed = fleet.NewWitness(link, m, app, epoch); member.unwitnessed == nil {
		member.atWork.Go(func() { member.witness.Run(ctx) })
	}
	member.lesson = f.enter(name, m, twin)
	return member, nil
}

// Close ends everything, after members have handed over what they did.
func (f *Fleet) Close() error {
	f.leaving.Wait()
	f.mu.Lock()
	f.closed = true
	lessons, server := f.lessons, f.server
	f.lessons, f.server = map[string]*lesson{}, nil
	f.mu.Unlock()
	f.end()
	var faults []error
	for name, l := range lessons {
		if err := l.stop(); err != nil {
			faults = append(faults, fmt.Errorf("the teacher of %s: %w", name, err))
		}
	}
	if server != nil {
		server.Stop()
	}
	return errors.Join(faults...)
}

// folder of the teacher of a fleet.
func (f *Fleet) folder(name string) string { return filepath.Join(f.Server.Folder, "teachers", name) }
