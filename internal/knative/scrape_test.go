package knative

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"google.golang.org/protobuf/encoding/protowire"
)

// decided is what a LoadLine decided.
type decided struct {
	n   int
	err error
}

func (d decided) Replicas(types.NamespacedName, string, time.Time) (int, error) { return d.n, d.err }

// report is what a queue-proxy answers: concurrency, the proxied part, requests, the proxied part.
func report(values ...float64) []byte {
	b := protowire.AppendTag(nil, 1, protowire.BytesType)
	b = protowire.AppendString(b, "pod")
	for i, v := range values {
		b = protowire.AppendTag(b, protowire.Number(2+i), protowire.Fixed64Type)
		b = protowire.AppendFixed64(b, math.Float64bits(v))
	}
	b = protowire.AppendTag(b, 7, protowire.VarintType) // a field of later versions
	return protowire.AppendVarint(b, 1764000000)
}

func TestParseStat(t *testing.T) {
	s, err := ParseStat(bytes.NewReader(report(3, 1, 20, 5, 60)))
	if want := (Stat{"pod", 3, 1, 20, 5, 60}); err != nil || s != want {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = ParseStat(strings.NewReader("")); err != nil || s != (Stat{}) { // a message of zeros is empty
		t.Errorf("%+v, %v", s, err)
	}
	for name, text := range map[string]string{"text": "# HELP x", "torn": string(report(3)[:8]), "negative": string(report(-1)),
		"not a number": string(report(math.NaN())), "too long": strings.Repeat("\x0a\x00", maxStat)} {
		if s, err := ParseStat(strings.NewReader(text)); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add(report(3, 1, 20, 5, 60))
	f.Add([]byte("# HELP"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseStat(bytes.NewReader(data))
		if err == nil && !(s.Concurrency >= 0 && s.ProxiedConcurrency >= 0 && s.Requests >= 0 && s.ProxiedRequests >= 0) {
			t.Errorf("%+v", s)
		}
	})
}

const activatorMetrics = `# TYPE kn_revision_request_concurrency gauge
kn_revision_request_concurrency{k8s_namespace_name="shop",kn_revision_name="hello-00001",kn_service_name="hello"} 1.5
# TYPE kn_revision_request_queued gauge
kn_revision_request_queued{k8s_namespace_name="shop",kn_revision_name="hello-00001"} 2
# TYPE http_server_request_duration_seconds histogram
http_server_request_duration_seconds_bucket{k8s_namespace_name="shop",kn_revision_name="hello-00001",http_response_status_code="200",le="+Inf"} %[1]d
http_server_request_duration_seconds_sum{k8s_namespace_name="shop",kn_revision_name="hello-00001",http_response_status_code="200"} 1
http_server_request_duration_seconds_count{k8s_namespace_name="shop",kn_revision_name="hello-00001",http_response_status_code="200"} %[1]d
`

func TestParseActivator(t *testing.T) {
	of, err := ParseActivator(strings.NewReader(fmt.Sprintf(activatorMetrics, 40)))
	if want := (Proxied{1.5, 2, 40}); err != nil || of[Revision{"shop", "hello-00001"}] != want || len(of) != 1 {
		t.Errorf("%+v, %v", of, err)
	}
	if of, err = ParseActivator(strings.NewReader("# TYPE go_goroutines gauge\ngo_goroutines 3\n")); err != nil || len(of) != 0 {
		t.Errorf("an activator without requests: %v, %v", of, err)
	}
	if _, err = ParseActivator(strings.NewReader("")); !errors.Is(err, errNotActivator) {
		t.Error(err)
	}
	if _, err = ParseActivator(strings.NewReader("<html>")); err == nil {
		t.Error("a page was accepted")
	}
}

// TestScraper reads real servers: an activator that was found by its endpoints, two queue-proxies, of
// which one is broken, and what follows from an activator that goes away.
func TestScraper(t *testing.T) {
	now := atomic.Int64{}
	served := atomic.Int64{}
	served.Store(40)
	activator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, activatorMetrics, served.Load())
	}))
	defer activator.Close()
	queue := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "localhost:"+portOf(t, r) {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		w.Write(report(3, 1, 20, 5, 60))
	}))
	defer queue.Close()

	scheme := runtime.NewScheme()
	if err := discoveryv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	host, port := split(t, activator.URL)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "knative-serving", Name: "a", Labels: map[string]string{
			discoveryv1.LabelServiceName: activatorService}},
		Ports:     []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(1))}, {Name: new(activatorPort), Port: new(int32(port))}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{host}}, {Addresses: []string{"192.0.2.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)}}},
	}
	s := NewScraper(fake.NewClientBuilder().WithScheme(scheme).WithObjects(slice).Build(), "knative-serving",
		func() time.Time { return noon.Add(time.Duration(now.Load())) })
	_, s.QueuePort = split(t, queue.URL)

	hello := Revision{"shop", "hello-00001"}
	first := s.Activators(context.Background())
	if p := first.Of[hello]; first.Err != nil || p.Concurrency != 2 || p.Requests != 2 {
		t.Errorf("the first reading has no rate yet, and what waits counts: %+v", first)
	}
	now.Store(int64(2 * time.Second))
	served.Store(60)
	all := s.Activators(context.Background())
	if p := all.Of[hello]; all.Err != nil || p.Requests != 12 {
		t.Errorf("20 requests in 2 s, and two that wait: %+v", all)
	}
	stats := s.pods(context.Background(), []string{"127.0.0.1", "localhost"})
	if stats[0] == nil || stats[0].Concurrency != 3 || stats[1] != nil {
		t.Errorf("%+v", stats)
	}
	l := loadOf("concurrency", noon, 2, []Stat{*stats[0]}, all, hello)
	if total := l.total(); !total.Set || total.Value != 2*2+2 {
		t.Errorf("%+v: %+v", l, total)
	}
	if l = loadOf("rps", noon, 2, []Stat{*stats[0]}, all, hello); l.Direct[0] != 15 || l.Activators.Value != 12 {
		t.Errorf("%+v", l)
	}
	activator.Close()
	now.Store(int64(time.Minute))
	gone := s.Activators(context.Background())
	if l = loadOf("concurrency", noon, 2, []Stat{*stats[0]}, gone, hello); gone.Err == nil || l.Activators.Set || l.total().Value != 6 {
		t.Errorf("%+v, %+v", gone, l)
	}
}

func split(t *testing.T, server string) (string, int) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	host, text, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

func portOf(t *testing.T, r *http.Request) string {
	t.Helper()
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		t.Error(err)
	}
	return port
}
