package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// asNode makes the test binary one server of a cluster: a separate process can be killed.
const asNode = "LOADLINE_FLEET_TEST_NODE"

func TestMain(m *testing.M) {
	if text := os.Getenv(asNode); text != "" {
		os.Exit(beNode(text))
	}
	os.Exit(m.Run())
}

// place of a node in its cluster.
type place struct {
	Name, Folder string
	Port         int // among servers
	Routes       []string
}

// beNode serves until its parent closes the pipe, and prints its address.
func beNode(text string) int {
	var p place
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	n, err := server.NewServer(&server.Options{
		ServerName: p.Name, Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: p.Folder,
		Cluster: server.ClusterOpts{Name: "fleet", Host: "127.0.0.1",
			Port: p.Port}, Routes: server.RoutesFromStr(strings.Join(p.Routes, ",")),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go n.Start()
	if !n.ReadyForConnections(soon) {
		return 1
	}
	fmt.Println(n.ClientURL())
	_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test, in any case
	return 0
}

// node is one server of a cluster.
type node struct {
	url     string
	process *os.Process
}

// cluster runs three connected servers, each in its own process.
func cluster(t *testing.T) map[string]node {
	t.Helper()
	var places []place
	var routes []string
	for i := range 3 {
		address := freeAddress(t)
		port, err := strconv.Atoi(address[strings.LastIndex(address, ":")+1:])
		if err != nil {
			t.Fatal(err)
		}
		routes = append(routes, "nats://"+address)
		places = append(places, place{Name: fmt.Sprintf("n%d", i), Folder: t.TempDir(), Port: port})
	}
	nodes := map[string]node{}
	for _, p := range places {
		p.Routes = routes
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		command := exec.Command(os.Args[0])
		command.Env, command.Stderr = append(os.Environ(), asNode+"="+string(text)), os.Stderr
		stdin, err := command.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = stdin.Close()
			_ = command.Wait() // one of them was killed
		})
		at, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		nodes[p.Name] = node{strings.TrimSpace(at), command.Process}
	}
	return nodes
}

// class is a set of students: in each tick all of them decide.
type class struct {
	students  []*drpc.Student
	publisher *Publisher
	decided   int
}

// tick makes all students decide the given number of times and publish their decisions.
func (c *class) tick(times int) {
	var local drpc.Local
	var action drpc.Action
	for range times {
		for i, s := range c.students {
			s.Decide(&local, &action)
			c.publisher.Add(i, noon, s.Version(), &local, action)
			c.decided++
		}
	}
}

// learner is what a teacher has learned: received messages are saved with the checkpoint, and
// lost if it is killed before.
type learner struct {
	learned  map[string]int // times, by id
	received []string       // since the last checkpoint
}

func (p *learner) receive(d *drpc.Delivery) error {
	p.received = append(p.received, d.ID())
	return nil
}

func (p *learner) keep() {
	for _, id := range p.received {
		p.learned[id]++
	}
	p.received = nil
}

// TestACluster: one of three servers is killed during the run, and later the teacher, twice:
// before it has written what it counted, and after that but before the acknowledgement.
// Students continue to decide, and every acknowledged experience is learned from once.
func TestACluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a cluster takes seconds to elect its leaders")
	}
	nodes := cluster(t)
	var urls []string
	for _, n := range nodes {
		urls = append(urls, n.url)
	}
	// No server responds during a leader election: retry soon.
	here := func(c *Config) { c.URL, c.Timeout = strings.Join(urls, ","), 2*time.Second }
	l := link(t, here)
	wait(t, l)
	stream, _, err := l.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().Config.Replicas; n != 3 {
		t.Fatalf("%d replicas, want 3", n)
	}

	services := []string{"front", "cart", "ads"}
	c := &class{publisher: l.NewPublisher(services, 1, 10_000)}
	for i, s := range services {
		c.students = append(c.students, newStudent(t, s, uint64(i)))
	}
	background(t, c.publisher.Run)
	dir, p := t.TempDir(), &learner{learned: map[string]int{}}
	hire := func() (*Collector, *Link) {
		end := link(t, here)
		wait(t, end)
		teacher, err := NewCollector(end, dir)
		if err != nil {
			t.Fatal(err)
		}
		teacher.Received = p.receive
		return teacher, end
	}
	teacher, end := hire()
	defer func() { _ = teacher.Close() }()
	pass := func() (int, error) {
		n, err := teacher.pass()
		if n > 0 {
			p.keep()
		}
		p.received = nil
		return n, err
	}

	c.tick(20)
	flush(t, c.publisher)
	if n, err := pass(); n != c.decided || err != nil {
		t.Fatalf("%d counted of %d, %v", n, c.decided, err)
	}

	// The leader of the stream is killed during the run.
	c.tick(20)
	leader := stream.CachedInfo().Cluster.Leader
	if err := nodes[leader].process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.tick(20)
	flush(t, c.publisher)

	// The teacher is killed after it has received a part and written nothing.
	killed := errors.New("killed")
	teacher.Received = func(d *drpc.Delivery) error {
		if len(p.received) == 10 {
			return killed
		}
		return p.receive(d)
	}
	eventually(t, "the teacher reads from the others", func() bool {
		_, err := pass()
		return errors.Is(err, killed)
	})
	if err := teacher.Close(); err != nil {
		t.Fatal(err)
	}
	end.Close()
	c.tick(20)
	flush(t, c.publisher)

	// The next one is killed after it has written what it counted.
	teacher, end = hire()
	teacher.Received = func(d *drpc.Delivery) error {
		end.Close() // nothing can be acknowledged any more
		return p.receive(d)
	}
	n := 0
	eventually(t, "the second teacher reads", func() bool {
		n, err = pass()
		return n > 0
	})
	if err == nil {
		t.Fatal("it has acknowledged without a connection")
	}
	if err := teacher.Close(); err != nil {
		t.Fatal(err)
	}

	c.tick(20)
	flush(t, c.publisher)
	teacher, _ = hire()
	eventually(t, "the third teacher has counted all", func() bool {
		_, _ = pass() // an election may be in progress; the count is checked below
		return teacher.Ledger().Counted >= uint64(c.decided)
	})
	if got := teacher.Ledger(); got.Counted != uint64(c.decided) || got.Repeated == 0 {
		t.Errorf("%d counted, %d came again; want %d, and some", got.Counted, got.Repeated, c.decided)
	}
	if len(p.learned) != c.decided {
		t.Errorf("%d learned from, want %d", len(p.learned), c.decided)
	}
	for id, times := range p.learned {
		if times != 1 {
			t.Errorf("%s is learned from %d times", id, times)
		}
	}
	if _, lost := c.publisher.Waiting(); c.decided != 5*20*len(services) || lost != 0 {
		t.Errorf("%d decisions, %d lost", c.decided, lost)
	}

	// Weights are published through the rest of the cluster.
	mirror := l.NewWeightCache(services)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go mirror.Run(ctx)
	eventually(t, "weights are put", func() bool {
		err := teacher.link.Put(drpc.WeightsOf(newStudent(t, "cart", 9), 7))
		return err == nil || errors.Is(err, drpc.ErrOutdate)
	})
	eventually(t, "weights are seen", func() bool { return mirror.Latest("cart").Weights.Version == 7 })
}
