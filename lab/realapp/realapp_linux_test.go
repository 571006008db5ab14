package realapp

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
)

// twoServices is an application whose front calls a database twice, and optional ads.
func twoServices() *loadline.App {
	service := func(name string) loadline.Service {
		return loadline.Service{
			Name: name, CPU: loadline.Dist{Mean: 200 * time.Microsecond}, Workers: 4, Backlog: 8, Replicas: 1,
			Memory: loadline.Memory{Base: 1 << 20, PerRequest: 64 << 10},
			Size:   loadline.Size{CPURequest: 0.1, CPULimit: 0.25, MemoryRequest: 32 << 20, MemoryLimit: 64 << 20},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 5, MinCPU: 0.05, MaxCPU: 1, MinMemory: 16 << 20, MaxMemory: 1 << 30},
		}
	}
	call := func(service, times int) loadline.Call {
		return loadline.Call{Service: service, Probability: 1, Times: times, Work: 1}
	}
	root, ads := call(0, 1), call(2, 1)
	ads.Optional = true
	root.Stages = [][]loadline.Call{{call(1, 2), ads}}
	return &loadline.App{
		Name: "shop", Services: []loadline.Service{service("front"), service("db"), service("ads")},
		Kinds: []loadline.Kind{{Name: "buy", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: time.Second}, Root: root}},
		Nodes: []loadline.Node{{Name: "n", Cores: 4, Memory: 8 << 30}},
	}
}

// played runs every service of an application on loopback.
type played struct {
	app     *loadline.App
	servers []*Server
	web     []*httptest.Server
	lock    sync.Mutex
}

func play(t *testing.T, app *loadline.App) *played {
	t.Helper()
	p := &played{app: app}
	address := func(service string) string {
		p.lock.Lock()
		defer p.lock.Unlock()
		return strings.TrimPrefix(p.web[app.ServiceIndex(service)].URL, "http://")
	}
	p.lock.Lock()
	for i := range app.Services {
		s, err := New(Settings{App: app, Service: app.Services[i].Name, Seed: 1, Callee: address})
		if err != nil {
			t.Fatal(err)
		}
		web := httptest.NewServer(s)
		t.Cleanup(web.Close)
		p.servers, p.web = append(p.servers, s), append(p.web, web)
	}
	p.lock.Unlock()
	for _, s := range p.servers {
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func status(t *testing.T, url string) int {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// shown is the value of a series that begins with a text.
func (p *played) shown(t *testing.T, service int, series string) float64 {
	t.Helper()
	answer, err := http.Get(p.web[service].URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, series+" "); found {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	return math.NaN()
}

func TestARequestVisitsTheWholeCallTree(t *testing.T) {
	p := play(t, twoServices())
	for range 10 {
		if code := status(t, p.web[0].URL+"/buy"); code != http.StatusOK {
			t.Fatalf("answered %d", code)
		}
	}
	const ok = `_count{http_route="/buy",http_response_status_code="200"}`
	for service, want := range []float64{10, 20, 10} {
		if got := p.shown(t, service, "http_server_request_duration_seconds"+ok); got != want {
			t.Errorf("%s served %v visits, want %v", p.app.Services[service].Name, got, want)
		}
	}
	if got := p.shown(t, 0, `http_client_request_duration_seconds_count{server_address="db",http_response_status_code="200"}`); got != 20 {
		t.Errorf("the front called the database %v times, want 20", got)
	}
	if got := p.shown(t, 1, `http_server_request_duration_seconds_bucket{http_route="/buy",http_response_status_code="200",le="+Inf"}`); got != 20 {
		t.Errorf("the last bucket has %v, want all 20", got)
	}
}

func TestOptionalCallsMayFailAndOthersMayNot(t *testing.T) {
	p := play(t, twoServices())
	p.web[2].Close()
	if code := status(t, p.web[0].URL+"/buy"); code != http.StatusOK {
		t.Errorf("answered %d without ads, which are optional", code)
	}
	p.web[1].Close()
	if code := status(t, p.web[0].URL+"/buy"); code != http.StatusInternalServerError {
		t.Errorf("answered %d without a database", code)
	}
}

func TestPathsThatAreNoCalls(t *testing.T) {
	p := play(t, twoServices())
	for _, path := range []string{"/sell", "/", "/buy/0", "/buy/0.2", "/buy/1.0", "/buy/-1.0", "/buy/0.0/0.0", "/buy/0.0"} {
		if code := status(t, p.web[0].URL+path); code != http.StatusNotFound {
			t.Errorf("%s answered %d, want 404", path, code)
		}
	}
}

func TestMoreThanTheBacklogIsRefused(t *testing.T) {
	g := newGate(2, 1)
	for range 2 {
		if _, ok := g.enter(); !ok {
			t.Fatal("a free worker was refused")
		}
	}
	admitted := make(chan int)
	go func() {
		n, _ := g.enter()
		admitted <- n
	}()
	for g.waiting.Load() == 0 { // until it waits
		time.Sleep(time.Millisecond)
	}
	if _, ok := g.enter(); ok {
		t.Error("the backlog has room for one, and two were let in")
	}
	g.leave()
	if n := <-admitted; n != 2 {
		t.Errorf("%d at work, want 2", n)
	}
}

func TestAServerThatStartsIsNotReady(t *testing.T) {
	app := twoServices()
	s, err := New(Settings{App: app, Service: "db"})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	defer web.Close()
	if code := status(t, web.URL+"/ready"); code != http.StatusServiceUnavailable {
		t.Errorf("the probe says %d before the start", code)
	}
	if code := status(t, web.URL+"/buy/0.0"); code != http.StatusServiceUnavailable {
		t.Errorf("a visit before the start was answered with %d", code)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code := status(t, web.URL+"/ready"); code != http.StatusOK {
		t.Errorf("the probe says %d after the start", code)
	}
	if _, err := New(Settings{App: app, Service: "dbb"}); err == nil || !strings.Contains(err.Error(), `did you mean "db"`) {
		t.Errorf("an unknown service: %v", err)
	}
}

func TestRetriesKeepToTheirBudget(t *testing.T) {
	app := twoServices()
	app.Services[0].RetryBudget = 0.1
	db := &app.Kinds[0].Root.Stages[0][0]
	db.Retries = loadline.Retries{Attempts: 3, Backoff: time.Microsecond}
	p := play(t, app)
	p.web[1].Close()
	for range 50 {
		status(t, p.web[0].URL+"/buy")
	}
	// 50 first attempts, ten retries that the bucket starts with, and a tenth of one for each.
	const failed = `http_client_request_duration_seconds_count{server_address="db",http_response_status_code="500"}`
	if got := p.shown(t, 0, failed); got < 60 || got > 66 {
		t.Errorf("%v attempts, want 60 to 66", got)
	}
}

type constant float64

func (c constant) Rate(int, time.Duration) (float64, time.Duration) {
	return float64(c), time.Duration(math.MaxInt64)
}

func TestGeneratorSendsEveryRequest(t *testing.T) {
	app := twoServices()
	for i := range app.Services { // a busy machine must not fill the backlog
		app.Services[i].Backlog = 1000
	}
	p := play(t, app)
	rng := rand.New(rand.NewPCG(1, 2))
	arrivals := Schedule(p.app, constant(400), 50*time.Second, rng)
	if n := len(arrivals); math.Abs(float64(n)-20_000) > 4*math.Sqrt(20_000) {
		t.Errorf("%d arrivals of 20,000", n)
	}
	arrivals = arrivals[:40]
	g := Generator{App: p.app, Client: http.DefaultClient, Entry: func(service string) string {
		return strings.TrimPrefix(p.web[p.app.ServiceIndex(service)].URL, "http://")
	}}
	answers := g.Send(context.Background(), time.Now(), arrivals)
	for i, a := range answers {
		if a.Failed || a.Latency <= 0 || a.Late < 0 || a.Due != arrivals[i].Due {
			t.Fatalf("answer %d is %+v", i, a)
		}
	}
	if len(answers) != 40 || Lateness(answers, 1) < Lateness(answers, 0.5) {
		t.Errorf("%d answers, late by %v at most", len(answers), Lateness(answers, 1))
	}
}

func TestObjectsCarryTheModelAndItsSizes(t *testing.T) {
	app := twoServices()
	objects, err := Objects(app, ObjectsSettings{Namespace: "test", Image: "localhost/app:1", Node: "real-node"})
	if err != nil || len(objects) != 7 {
		t.Fatalf("%d objects: %v", len(objects), err)
	}
	file := filepath.Join(t.TempDir(), "app.yaml")
	if err := os.WriteFile(file, []byte(objects[0]["data"].(Object)["app.yaml"].(string)), 0o600); err != nil {
		t.Fatal(err)
	}
	back, err := apps.Load(file)
	if err != nil || !reflect.DeepEqual(back.App.Kinds, app.Kinds) {
		t.Errorf("the model in the ConfigMap is another one: %v", err)
	}
	pod := objects[1]["spec"].(Object)["template"].(Object)["spec"].(Object)
	container := pod["containers"].([]any)[0].(Object)
	want := Object{"requests": Object{"cpu": "100m", "memory": "33554432"}, "limits": Object{"cpu": "250m", "memory": "67108864"}}
	if !reflect.DeepEqual(container["resources"], want) || pod["nodeName"] != "real-node" {
		t.Errorf("resources %v on %v", container["resources"], pod["nodeName"])
	}
	app.Services[1].Name = "my_db"
	if _, err := Objects(app, ObjectsSettings{}); err == nil || !strings.Contains(err.Error(), `"my_db"`) {
		t.Errorf("a name that Kubernetes refuses: %v", err)
	}
}

func TestHalfACoreTakesTwiceTheWork(t *testing.T) {
	const work = 60 * time.Millisecond
	began := time.Now()
	burnOn(0.5, 2*work)
	if took := time.Since(began); took < 2*work-burnSlice {
		t.Errorf("%v of CPU on half a core took %v", work, took)
	}
}
