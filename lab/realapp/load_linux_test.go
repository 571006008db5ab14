package realapp

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
)

// generatorVariable makes this test binary a generator's process.
const generatorVariable = "LOADLINE_TEST_GENERATOR"

func TestMain(m *testing.M) {
	if os.Getenv(generatorVariable) == "" {
		os.Exit(m.Run())
	}
	if err := Generate(context.Background(), os.Stdin, os.Stdout); err != nil {
		panic(err)
	}
}

// counted counts the connections that a server has had.
func counted(t *testing.T) (address string, connections func() int) {
	t.Helper()
	var lock sync.Mutex
	n := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		lock.Lock()
		defer lock.Unlock()
		if s == http.StateNew {
			n++
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), func() int {
		lock.Lock()
		defer lock.Unlock()
		return n
	}
}

// A process of its own sends what it is asked for, over as many connections as it is asked for.
func TestGenerateSendsALoad(t *testing.T) {
	for name, c := range map[string]struct {
		keep  loadline.KeepAlive
		fresh bool
		most  int
		least int
	}{
		"a connection for each request": {fresh: true, most: 40, least: 40},
		"three connections":             {keep: loadline.KeepAlive{Connections: 3, Users: 3}, most: 3, least: 2},
	} {
		t.Run(name, func(t *testing.T) {
			app := twoServices()
			if c.keep.Users > 0 {
				app.Routing, app.KeepAlive = loadline.RouteKeepAlive, c.keep
			}
			model, err := apps.Encode(app)
			if err != nil {
				t.Fatal(err)
			}
			address, connections := counted(t)
			load := Load{Model: string(model), Entries: map[string]string{"front": address}, Start: time.Now(), Fresh: c.fresh, Seed: 1}
			for i := range 40 {
				load.Arrivals = append(load.Arrivals, Arrival{Due: time.Duration(i) * time.Millisecond})
			}
			in, err := json.Marshal(load)
			if err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), os.Args[0])
			command.Env = append(os.Environ(), generatorVariable+"=yes")
			command.Stdin, command.Stderr = bytes.NewReader(in), os.Stderr
			out, err := command.Output()
			if err != nil {
				t.Fatal(err)
			}
			var answers []Answer
			if err := json.Unmarshal(out, &answers); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, a := range answers {
				if a.Failed || a.Latency <= 0 {
					t.Errorf("%+v", a)
				}
			}
			if n := connections(); len(answers) != 40 || n > c.most || n < c.least {
				t.Errorf("%d answers over %d connections, want 40 over %d to %d", len(answers), n, c.least, c.most)
			}
		})
	}
}

func TestConnectionsExpire(t *testing.T) {
	c := NewConnections(loadline.KeepAlive{Users: 1, Lifetime: time.Minute}, rand.New(rand.NewPCG(1, 1)))
	now := time.Unix(0, 0)
	first := c.choose(now)
	if c.choose(now.Add(time.Minute)) != first {
		t.Error("the connection was replaced before its end")
	}
	if c.choose(now.Add(time.Minute+1)) == first {
		t.Error("the connection was kept beyond its end")
	}
}

func TestObjectsNameTheHosts(t *testing.T) {
	objects, err := Objects(twoServices(), ObjectsSettings{Image: "i", Hosts: map[string]string{"front": "10.0.0.1", "db": "10.0.0.2"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	const want = `"hostAliases":[{"hostnames":["db"],"ip":"10.0.0.2"},{"hostnames":["front"],"ip":"10.0.0.1"}]`
	if strings.Count(string(text), want) != 3 {
		t.Errorf("each of 3 Deployments must have %s: %s", want, text)
	}
}
