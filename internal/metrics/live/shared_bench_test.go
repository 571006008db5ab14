package live

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// BenchmarkShared compares the CPU time of reading the metrics of 25 LoadLines (those of 200 that pass at the
// same instant) each by itself and together. The server is another process: CPU time is that of the reader
// alone, by rusage, so that other load on the machine does not count.
func BenchmarkShared(b *testing.B) {
	for _, layout := range []struct {
		name                          string
		loadlines, services, perSpace int // LoadLines, services of each, LoadLines in one namespace
	}{
		{"25x10 services, each in a namespace of its own", 25, 10, 1},
		{"25x10 services, 5 LoadLines in each namespace", 25, 10, 5},
		{"25x1 service, 25 LoadLines in one namespace", 25, 1, 25},
	} {
		b.Run(layout.name, func(b *testing.B) {
			url := serve(b)
			make := func(group *Shared) []*observer {
				var list []*observer
				for i := range layout.loadlines {
					app := &loadline.App{Kinds: application().Kinds}
					var pods [][]string
					for j := range layout.services {
						name := fmt.Sprintf("service-%d", i%layout.perSpace*layout.services+j)
						app.Services = append(app.Services, loadline.Service{Name: name})
						pods = append(pods, podsOf(name))
					}
					o := Options{App: app, Preset: load(b, "istio"), Scrape: 15 * time.Second, Shared: group,
						Namespace: fmt.Sprintf("ns-%d", i/layout.perSpace*1000+layout.services*layout.perSpace)}
					list = append(list, &observer{source: source(b, url, o), pods: pods})
				}
				return list
			}
			alone, together := make(nil), make(shared(b, url, layout.loadlines))
			measure := func(list []*observer) float64 {
				began := cpuSeconds(b)
				observeAll(context.Background(), at, list)
				took := cpuSeconds(b) - began
				for i, o := range list {
					if o.err != nil {
						b.Fatal(i, o.err)
					}
					s := &o.seen.Services[len(o.seen.Services)-1]
					if !s.Latency.P99.Present() || !s.Pods[0].CPU.Present() {
						b.Fatal(i, "something is absent")
					}
				}
				return took
			}
			measure(alone) // connections are made
			measure(together)
			before, after := 0.0, 0.0
			for b.Loop() {
				before += measure(alone)
				after += measure(together)
			}
			n := 1e-6 * float64(b.N*layout.loadlines*layout.services)
			b.ReportMetric(before/n, "alone-us/service")
			b.ReportMetric(after/n, "together-us/service")
			b.ReportMetric(before/after, "ratio")
		})
	}
}

func podsOf(service string) []string {
	return []string{service + "-6d4b75cb6d-00001", service + "-6d4b75cb6d-00002"}
}

// cpuSeconds that this process has used.
func cpuSeconds(t testing.TB) float64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + 1e-6*float64(u.Utime.Usec+u.Stime.Usec)
}

// serve starts this program again as a server of namespaces; that of ns-K has K%1000 services.
func serve(b *testing.B) string {
	cmd := exec.Command(os.Args[0], "-test.run=^TestServeNamespaces$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), "LOADLINE_SERVE_NAMESPACES=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if url, found := strings.CutPrefix(lines.Text(), "serving "); found {
			return url
		}
	}
	b.Fatal("the server did not start")
	return ""
}

// TestServeNamespaces is the server of BenchmarkShared, in a process of its own.
func TestServeNamespaces(t *testing.T) {
	if os.Getenv("LOADLINE_SERVE_NAMESPACES") == "" {
		t.Skip("it is a part of BenchmarkShared")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.FormValue("query")
		namespaces, joined := partsOf(query)
		var rows []string
		for i, ns := range namespaces {
			tag := ""
			if joined {
				tag = fmt.Sprintf(`,%q:"%d"`, sharedLabel, i)
			}
			var n int
			_, _ = fmt.Sscanf(ns, "ns-%d", &n)
			rows = append(rows, seriesOf(query, n%1000, tag)...)
		}
		_, body := vector(rows...) // written at once, as Prometheus does
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	fmt.Println("serving", server.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// seriesOf an answer about some services.
func seriesOf(query string, services int, tag string) []string {
	value := "12.5"
	if strings.Contains(query, "timestamp(") {
		value = "990.25"
	}
	label := "workload"
	if strings.Contains(query, "destination_workload") {
		label = "destination_workload"
	}
	var rows []string
	for i := range services {
		name := fmt.Sprintf("service-%d", i)
		labels := fmt.Sprintf(`%q:%q%s`, label, name, tag)
		switch {
		case strings.Contains(query, "by (pod"):
			for _, pod := range podsOf(name) {
				rows = append(rows, row(fmt.Sprintf(`"pod":%q%s`, pod, tag), value))
			}
		case strings.Contains(query, "_bucket") && strings.Contains(query, "response_code"): // no failures
		case strings.Contains(query, "_bucket") && strings.Contains(query, "source_workload_namespace") && i > 0: // not an entry
		case strings.Contains(query, "_bucket"):
			for bound := range 20 {
				le := fmt.Sprint(1 << bound)
				if bound == 19 {
					le = "+Inf"
				}
				rows = append(rows, row(labels+fmt.Sprintf(`,"le":%q`, le), fmt.Sprint(bound)))
			}
		default:
			rows = append(rows, row(labels, value))
		}
	}
	return rows
}
