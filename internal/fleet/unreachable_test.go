package fleet

import (
	"net"
	"testing"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// freeAddress is an address of this machine where no server listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestStudentsNeverWaitForServers: an agent whose servers have never been reachable still
// decides, queues its decisions, and sends them once the servers are up.
func TestStudentsNeverWaitForServers(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	l := link(t, func(c *Config) { c.URL = "nats://" + address })
	app, model := bookinfo(t, 1)
	agent, err := NewAgent(l, model, app, drpc.Work{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	start(t, agent)
	act(t, app, agent)
	decisions := uint64(0)
	for _, s := range agent.Status() {
		if s.Decisions < 10 { // at most one per minute
			t.Errorf("%s has decided %d times in ten minutes", s.Service, s.Decisions)
		}
		decisions += s.Decisions
	}
	if waiting, lost := agent.Publisher.Waiting(); uint64(waiting) != decisions || lost != 0 {
		t.Errorf("%d wait and %d are lost, want %d and 0", waiting, lost, decisions)
	}
	if _, err := l.Fetch(1); err == nil {
		t.Error("fetching without a server returned no error")
	}
	serve(t, t.TempDir(), address)
	wait(t, l)
	flush(t, agent.Publisher)
	teacher, err := NewCollector(l, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := teacher.pass(); err != nil || uint64(n) != decisions {
		t.Errorf("%d counted, want %d (%v)", n, decisions, err)
	}
}

// TestAPublisherKeepsTheNewest: without a server for long, the oldest messages are dropped and
// counted.
func TestAPublisherKeepsTheNewest(t *testing.T) {
	l := link(t, func(c *Config) { c.URL = "nats://" + freeAddress(t) })
	c := l.NewPublisher([]string{"cart", "ads"}, 1, 3)
	for range 5 {
		c.Add(0, noon, 1, &drpc.Local{}, drpc.Action{})
	}
	heads := c.next() // its first is in flight
	c.Add(0, noon, 1, &drpc.Local{}, drpc.Action{})
	waiting, lost := c.Waiting()
	if len(heads) != 1 || heads[0].message.(*drpc.Experience).Sequence != 3 || waiting != 3 || lost != 3 {
		t.Errorf("%d wait, %d lost, under way %+v; want 3, 3, number 3", waiting, lost, heads)
	}
	c.settle(&heads[0], nil)
	if heads = c.next(); heads[0].message.(*drpc.Experience).Sequence != 5 {
		t.Errorf("number %d is next, want 5: 4 was the oldest that was not under way", heads[0].message.(*drpc.Experience).Sequence)
	}
}
