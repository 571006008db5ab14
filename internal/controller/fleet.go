package controller

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/fleet/teacher"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// FleetOptions configure the fleets of DRPC applications.
type FleetOptions struct {
	// Config of every application's fleet; its name is the prefix of theirs. Without a
	// URL the server is in this process.
	Config fleet.Config
	// Server in this process, started when the first fleet needs it. Its folder also
	// holds the state of embedded teachers.
	Server fleet.ServerConfig
	// Refusal is why students must not decide in this process; empty = they may.
	Refusal string
	Teach   bool // run the teachers in this process
	// Teachers is how many of them learn at once: each takes a thread and the memory of its
	// replay. The others count and publish, and learn when one of these has ended.
	Teachers int
	// Configure, if set, changes the configuration of a teacher.
	Configure func(*teacher.Config)
	Now       func() time.Time
}

// Fleet connects the students of all applications with their teachers.
type Fleet struct {
	FleetOptions
	life    context.Context
	end     context.CancelFunc
	leaving sync.WaitGroup // members that still publish their last decisions

	serving sync.Mutex // while the server starts, so that mu is never held for long
	server  *fleet.Server

	mu       sync.Mutex
	teachers map[string]*embeddedTeacher // by name of the fleet
	ending   map[string]<-chan struct{}  // idle teachers that still save their state
	learning map[string]bool             // teachers that learn
	waiting  map[string]teacher.Task     // what others will learn from
	closed   bool
}

// DefaultTeachers is how many teachers learn at once: with a replay of 64 MiB each and
// what their training takes, a third of the controller's memory limit.
const DefaultTeachers = 4

// NewFleet starts nothing yet.
func NewFleet(o FleetOptions) *Fleet {
	life, end := context.WithCancel(context.Background())
	return &Fleet{FleetOptions: o, life: life, end: end, teachers: map[string]*embeddedTeacher{}, ending: map[string]<-chan struct{}{},
		learning: map[string]bool{}, waiting: map[string]teacher.Task{}}
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
	f.serving.Lock()
	defer f.serving.Unlock()
	if f.isClosed() {
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

func (f *Fleet) isClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

// join makes the students of a model a member of a fleet. It does not wait for servers.
// The twin, if there is one, is the application in which an embedded teacher trains.
func (f *Fleet) join(name string, m *drpc.Model, app, twin *loadline.App) (*member, error) {
	link, err := f.open(name, "loadline run")
	if err != nil {
		return nil, err
	}
	agent, err := fleet.NewAgent(link, m, app, drpc.Work{}, uint64(f.Now().UnixNano()))
	if err != nil {
		link.Close()
		return nil, err
	}
	agent.Hold = true
	member := &member{fleet: f, name: name, agent: agent, link: link, noObserver: agent.AddAppObserver(m, app)}
	agent.Start()
	member.teacher = f.assign(name, m, twin)
	return member, nil
}

// Close ends everything, after the members have published their last decisions.
func (f *Fleet) Close() error {
	f.leaving.Wait()
	err := f.closeTeachers()
	f.serving.Lock()
	defer f.serving.Unlock()
	if f.server != nil {
		f.server.Stop()
		f.server = nil
	}
	return err
}

// folder of the teacher of a fleet.
func (f *Fleet) folder(name string) string { return filepath.Join(f.Server.Folder, "teachers", name) }
