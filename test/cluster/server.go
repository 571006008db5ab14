package cluster

import (
	"fmt"
	"syscall"
	"testing"
)

// Server is a further process of a test, such as a NATS server, which can be killed, suspended
// and started again with the same command.
type Server struct {
	c       *Cluster
	name    string
	env     []string
	program string
	args    []string
	process *process
}

// Server starts a program that ends before the API server does. Its output is in the cluster's
// folder.
func (c *Cluster) Server(t testing.TB, name, program string, args ...string) *Server {
	t.Helper()
	s := &Server{c: c, name: name, program: program, args: args}
	s.Start(t)
	return s
}

func (s *Server) start() (err error) {
	s.process, err = s.c.spawn(s.name, s.env, s.program, s.args...)
	return err
}

// Start starts a server that has ended. It does not wait until it is ready.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// Stop stops it.
func (s *Server) Stop() { s.process.stop() }

// Kill kills it.
func (s *Server) Kill() { s.process.kill() }

// Suspend stops its execution.
func (s *Server) Suspend() { s.process.pause() }

// Resume continues its execution.
func (s *Server) Resume() { s.process.signal(syscall.SIGCONT) }

// FreePort is a port of the loopback interface for a server of the test.
func FreePort() (int, error) {
	ports, err := freePorts("port")
	if err != nil {
		return 0, fmt.Errorf("find a port: %w", err)
	}
	return ports["port"], nil
}
