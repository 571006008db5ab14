package live

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// observer is one source of several that observe at once.
type observer struct {
	source *Source
	pods   [][]string
	seen   *loadline.Observation
	err    error
}

func (o *observer) observe(ctx context.Context, now time.Time) {
	o.seen, o.err = tryObserve(ctx, o.source, now, o.pods...)
}

// observeAll at one instant.
func observeAll(ctx context.Context, now time.Time, list []*observer) {
	var wg sync.WaitGroup
	for _, o := range list {
		wg.Go(func() { o.observe(ctx, now) })
	}
	wg.Wait()
}

func shared(t testing.TB, url string, sources int) *Shared {
	t.Helper()
	s := NewShared(client(t, url), nil)
	for range sources {
		s.Join()
	}
	return s
}

// TestTogetherAsAlone: on a real Prometheus, sources that ask together see what each sees alone: with equal
// and with different namespaces, windows, services, presets and their own variables.
func TestTogetherAsAlone(t *testing.T) {
	t.Parallel()
	need(t, "prometheus", "promtool")
	app, text, list := simulated(t, "boutique")
	// The second namespace has the same services with other load: rates are taken of half the counters.
	all := bytes.TrimSuffix(bytes.TrimSpace(text), []byte("# EOF"))
	var other bytes.Buffer
	for line := range strings.Lines(string(all)) {
		if !strings.HasPrefix(line, "#") {
			other.WriteString(strings.ReplaceAll(line, `"shop"`, `"store"`))
		}
	}
	both := merge(t, string(all), other.String())
	dir := t.TempDir()
	blocks(t, dir, both)
	p := start(t, dir, "")
	last := list[len(list)-1]
	options := map[string]Options{
		"shop":                  {App: app, Namespace: "shop"},
		"store":                 {App: app, Namespace: "store"},
		"shop, another window":  {App: app, Namespace: "shop", Window: 2 * time.Minute},
		"store, own variables":  {App: app, Namespace: "store", Variables: map[string]string{"failed": `response_code="500"`}},
		"shop, own variables":   {App: app, Namespace: "shop", Variables: map[string]string{"failed": `response_code="500"`}},
		"shop, the same again":  {App: app, Namespace: "shop"},
		"some services of shop": {App: part(app, 3), Namespace: "shop"},
		"resources of store":    {App: app, Namespace: "store", Preset: load(t, "cadvisor-ksm"), Scrape: 15 * time.Second},
	}
	group := shared(t, p.url, len(options))
	var alone, together []*observer
	var names []string
	for name, o := range options {
		names = append(names, name)
		pods := last.pods[:len(o.App.Services)]
		alone = append(alone, &observer{source: source(t, p.url, o), pods: pods})
		o.Shared = group
		together = append(together, &observer{source: source(t, p.url, o), pods: pods})
	}
	for range 2 { // settled and not
		for i := range alone {
			alone[i].observe(t.Context(), last.now)
		}
		observeAll(t.Context(), last.now, together)
		for i, name := range names {
			if alone[i].err != nil || together[i].err != nil {
				t.Fatal(name, alone[i].err, together[i].err)
			}
			if !alone[i].seen.Services[0].CPU.Present() {
				t.Errorf("%s: no CPU", name)
			}
			if !reflect.DeepEqual(alone[i].seen, together[i].seen) {
				t.Errorf("%s differs:\n%+v\n%+v", name, alone[i].seen.Services[0], together[i].seen.Services[0])
			}
			if got, want := together[i].source.Report().Metrics, alone[i].source.Report().Metrics; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: report %+v, want %+v", name, got, want)
			}
		}
	}
}

// merge two expositions with the same families: OpenMetrics has each family once.
func merge(t *testing.T, one, two string) []byte {
	t.Helper()
	by := map[string][]string{}
	sample := regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*`)
	family := func(name string) string {
		for _, suffix := range []string{"_bucket", "_sum", "_count", "_total"} {
			name = strings.TrimSuffix(name, suffix)
		}
		return name
	}
	for line := range strings.Lines(two) {
		name := family(sample.FindString(line))
		by[name] = append(by[name], line)
	}
	var out bytes.Buffer
	previous := ""
	for line := range strings.Lines(one + "# EOF\n") {
		name := "#"
		if !strings.HasPrefix(line, "#") {
			name = family(sample.FindString(line))
		}
		if name != previous && previous != "#" {
			for _, more := range by[previous] {
				out.WriteString(more)
			}
			delete(by, previous)
		}
		out.WriteString(line)
		previous = name
	}
	if len(by) > 0 {
		t.Fatalf("%d families of the second are not in the first", len(by))
	}
	return out.Bytes()
}

// part of an application: its first services.
func part(app *loadline.App, n int) *loadline.App {
	some := *app
	some.Services, some.Kinds = app.Services[:n], nil
	return &some
}

func load(t testing.TB, name string) *prom.Preset {
	t.Helper()
	p, err := prom.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// parts of a query, joined or not: namespace by share.
var partOf = regexp.MustCompile(`namespace="(ns-[0-9]+)"|"loadline_share", "([0-9]+)"`)

func partsOf(query string) (namespaces []string, joined bool) {
	last := ""
	for _, found := range partOf.FindAllStringSubmatch(query, -1) {
		if found[1] != "" {
			last = found[1]
			continue
		}
		namespaces, joined = append(namespaces, last), true
	}
	if !joined {
		namespaces = []string{last}
	}
	return namespaces, joined
}

// town is a server with many namespaces, each with one service "web" with a pod.
type town struct {
	*canned
	broken func(namespaces []string, query string) (int, string) // nil or 0 = as usual
}

func newTown(t *testing.T) (*town, string) {
	c := &town{canned: &canned{}}
	c.respond = func(query string) (int, string) {
		namespaces, joined := partsOf(query)
		if c.broken != nil {
			if code, body := c.broken(namespaces, query); code != 0 {
				return code, body
			}
		}
		var rows []string
		for i, ns := range namespaces {
			labels := `"destination_workload":"web","workload":"web","pod":"web-0","le":"+Inf"`
			if joined {
				labels += fmt.Sprintf(`,%q:"%d"`, sharedLabel, i)
			}
			rows = append(rows, row(labels, strings.TrimPrefix(ns, "ns-")))
		}
		return vector(rows...)
	}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, server.URL
}

// observers of a town, one for each namespace, which is its rate.
func (c *town) observers(t *testing.T, url string, group *Shared, n int) []*observer {
	var list []*observer
	for i := range n {
		o := Options{App: application("web"), Namespace: fmt.Sprintf("ns-%d", i+1), Preset: load(t, "istio"), Scrape: 15 * time.Second,
			Shared: group}
		list = append(list, &observer{source: source(t, url, o), pods: [][]string{{"web-0"}}})
	}
	return list
}

// check that every observer but some has its own rate, and return the queries since the last time.
func (c *town) check(t *testing.T, list []*observer, but ...int) []string {
	t.Helper()
	for i, o := range list {
		switch {
		case slices.Contains(but, i):
			if o.err == nil && o.seen.Services[0].Rate.Present() {
				t.Errorf("observer %d has a rate: %v", i, show(o.seen.Services[0].Rate))
			}
		case o.err != nil:
			t.Errorf("observer %d: %v", i, o.err)
		default:
			near(t, fmt.Sprintf("rate of observer %d", i), o.seen.Services[0].Rate, float64(i+1), 0)
			near(t, fmt.Sprintf("CPU of observer %d", i), o.seen.Services[0].Pods[0].CPU, float64(i+1), 0)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked
	c.asked = nil
	return asked
}

// TestManyAskOnce: sources of one server need as many queries as one of them.
func TestManyAskOnce(t *testing.T) {
	t.Parallel()
	c, url := newTown(t)
	group := shared(t, url, 20)
	group.quiet, group.most = time.Minute, time.Minute // a busy machine must not divide the round
	list := c.observers(t, url, group, 20)
	observeAll(t.Context(), at, list)
	asked := c.check(t, list)
	if want := list[0].source.Report().Queries; len(asked) != want {
		t.Errorf("%d queries for 20 applications, want those of one, %d", len(asked), want)
	}
}

// TestABrokenQueryStaysItsOwn: a namespace whose query the server refuses does not take the others' data, and
// is asked apart the next time.
func TestABrokenQueryStaysItsOwn(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"refused": 403, "not understood": 400, "too heavy": 422} {
		t.Run(name, func(t *testing.T) {
			c, url := newTown(t)
			isRate := func(query string) bool {
				return strings.Contains(query, "rate(istio_requests_total{") && !strings.Contains(query, "response_code") &&
					!strings.Contains(query, "timestamp(") && !strings.Contains(query, "source_workload")
			}
			c.broken = func(namespaces []string, query string) (int, string) {
				if slices.Contains(namespaces, "ns-3") && isRate(query) {
					return code, `{"status":"error","errorType":"bad_data","error":"no"}`
				}
				return 0, ""
			}
			list := c.observers(t, url, shared(t, url, 8), 8)
			observeAll(t.Context(), at, list)
			c.check(t, list, 2)
			one := list[0].source.Report().Queries
			next := at.Add(15 * time.Second)
			observeAll(t.Context(), next, list)
			if asked := c.check(t, list, 2); len(asked) > 2*one {
				t.Errorf("%d queries once it is known which is broken; one application needs %d", len(asked), one)
			}
			c.broken = nil
			observeAll(t.Context(), next.Add(apartFor+time.Minute), list)
			if asked := c.check(t, list); len(asked) > one+2 {
				t.Errorf("%d queries after it is mended, want about %d", len(asked), one)
			}
		})
	}
}

// TestASlowQueryStaysItsOwn: the others have their data although one namespace's query is never answered.
func TestASlowQueryStaysItsOwn(t *testing.T) {
	t.Parallel()
	c, url := newTown(t)
	c.slow = func(query string) bool {
		namespaces, _ := partsOf(query)
		return slices.Contains(namespaces, "ns-3") && strings.Contains(query, "by (pod")
	}
	list := c.observers(t, url, shared(t, url, 5), 5)
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second) // of which half is for asking together
	defer cancel()
	var wg sync.WaitGroup
	for i, o := range list {
		if i != 2 {
			wg.Go(func() { o.observe(ctx, at) })
		}
	}
	short, cancelShort := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancelShort()
	list[2].observe(short, at)
	wg.Wait()
	for i, o := range list {
		if i != 2 {
			near(t, fmt.Sprintf("rate of observer %d", i), o.seen.Services[0].Rate, float64(i+1), 0)
			near(t, fmt.Sprintf("CPU of observer %d", i), o.seen.Services[0].Pods[0].CPU, float64(i+1), 0)
		}
	}
}

// TestALargeAnswerStaysItsOwn: a namespace that floods its part of an answer is refused by its own budget, and
// the others have their data.
func TestALargeAnswerStaysItsOwn(t *testing.T) {
	t.Parallel()
	c, _ := newTown(t)
	flood := strings.Repeat("x", 100<<10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.FormValue("query")
		namespaces, joined := partsOf(query)
		at := slices.Index(namespaces, "ns-2")
		_, body := c.respond(query)
		if at < 0 || !strings.Contains(query, "service, path)") {
			_, _ = io.WriteString(w, body)
			return
		}
		tag := ""
		if joined {
			tag = fmt.Sprintf(`,%q:"%d"`, sharedLabel, at)
		}
		_, err := io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[`)
		for i := 0; err == nil && r.Context().Err() == nil; i++ {
			_, err = fmt.Fprintf(w, `{"metric":{"exported_service":"web","path":"%d%s","le":"1"%s},"value":[1,"1"]},`, i, flood, tag)
		}
	}))
	defer server.Close()
	budget := prom.NewBudget(64 << 20)
	newClient := func() *prom.Client {
		c := client(t, server.URL)
		c.Share(budget)
		return c
	}
	group := NewShared(newClient(), nil)
	var list []*observer
	for i := range 4 {
		group.Join()
		s, err := New(newClient(), Options{App: application("web"), Namespace: fmt.Sprintf("ns-%d", i+1), Preset: load(t, "nginx-ingress"),
			Scrape: 15 * time.Second, Shared: group})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, &observer{source: s, pods: [][]string{{"web-0"}}})
	}
	for pass := range 2 {
		observeAll(t.Context(), at.Add(time.Duration(pass)*15*time.Second), list)
		for i, o := range list {
			if o.err != nil {
				t.Fatal(i, o.err)
			}
			near(t, fmt.Sprintf("CPU of observer %d", i), o.seen.Services[0].CPU, float64(i+1), 0)
		}
		for i, o := range list {
			if apart := len(o.source.apart) > 0; apart != (i == 1) {
				t.Errorf("observer %d is asked apart: %v, %v", i, apart, o.source.apart)
			}
		}
	}
	if budget.Free() != 64<<20 {
		t.Errorf("%d bytes are still taken", 64<<20-budget.Free())
	}
}

// TestOwnQueriesAreNotJoined: a query that others have written could leave its place in a joined one and speak
// for another namespace. It is asked as it is.
func TestOwnQueriesAreNotJoined(t *testing.T) {
	t.Parallel()
	c, url := newTown(t)
	group := shared(t, url, 3)
	list := c.observers(t, url, group, 2)
	hostile := list[0].source.o
	hostile.Namespace, hostile.Variables = "ns-3", map[string]string{
		"failed": `response_code="1"}[1m])), "` + sharedLabel + `", "0", "", "") or label_replace(vector(999`,
	}
	list = append(list, &observer{source: source(t, url, hostile), pods: [][]string{{"web-0"}}})
	observeAll(t.Context(), at, list)
	for _, query := range c.check(t, list) {
		if strings.Contains(query, "999") && strings.Contains(query, "label_replace((") {
			t.Errorf("joined: %s", query)
		}
	}
}

// TestAnUnreachableServerIsAskedOnce: nobody asks for itself what nobody answers.
func TestAnUnreachableServerIsAskedOnce(t *testing.T) {
	t.Parallel()
	c, _ := newTown(t)
	down := httptest.NewServer(c)
	url := down.URL
	down.Close()
	list := c.observers(t, url, shared(t, url, 4), 4)
	observeAll(t.Context(), at, list)
	for i, o := range list {
		if o.err == nil {
			t.Errorf("observer %d has an answer", i)
		}
	}
}
