package cluster

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Usage of a process so far. CPU time counts what it has used, whatever else runs on the machine.
type Usage struct {
	CPU            time.Duration
	Resident, Peak int64 // bytes
}

// Usage of the product.
func (p *Product) Usage(t testing.TB) Usage { return p.process.usage(t) }

// UsageOf other processes of the cluster by name, such as kube-controller-manager, keda-operator and keda-adapter.
func (c *Cluster) UsageOf(t testing.TB, name string) Usage {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.others {
		if p.name == name {
			return p.usage(t)
		}
	}
	t.Fatalf("no process is called %s", name)
	return Usage{}
}

func (p *process) usage(t testing.TB) Usage {
	t.Helper()
	proc := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	stat, err := os.ReadFile(proc + "stat")
	if err != nil {
		t.Fatalf("usage of %s: %v", p.name, err)
	}
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		t.Fatalf("usage of %s: %v", p.name, err)
	}
	// Fields after the name in parentheses; the 12th and 13th are user and system time in hundredths of a second.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var u Usage
	for _, f := range fields[11:13] {
		ticks, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatalf("usage of %s: %v", p.name, err)
		}
		u.CPU += time.Duration(ticks) * 10 * time.Millisecond
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "VmRSS:":
			u.Resident = kilobytes << 10
		case "VmHWM:":
			u.Peak = kilobytes << 10
		}
	}
	return u
}

// Scrape is the product's own metrics.
func (p *Product) Scrape(t testing.TB) string {
	t.Helper()
	resp, err := http.Get("http://" + p.Metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Writes that the API server has accepted, by resource, of those that an autoscaler makes.
type Writes map[string]float64

var writtenResources = []string{"loadlines", "deployments", "events", "leases", "horizontalpodautoscalers", "scaledobjects"}

// Writes so far.
func (c *Cluster) Writes(t testing.TB) Writes {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.tokens[Admin.Name])
	resp, err := (&http.Client{Transport: c.http.Transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	w := Writes{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "apiserver_request_total{") {
			continue
		}
		label := func(name string) string {
			_, rest, _ := strings.Cut(line, ","+name+`="`)
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
		resource := label("resource")
		if !slices.Contains(writtenResources, resource) || !slices.Contains([]string{"POST", "PUT", "PATCH", "APPLY"}, label("verb")) {
			continue
		}
		fields := strings.Fields(line)
		n, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			t.Fatal(err)
		}
		w[resource] += n
	}
	return w
}

// Sub is what came since.
func (w Writes) Sub(before Writes) Writes {
	d := Writes{}
	for name, n := range w {
		d[name] = n - before[name]
	}
	return d
}

// PerSecond shows them.
func (w Writes) PerSecond(seconds float64) string {
	var parts []string
	for _, name := range writtenResources {
		if n := w[name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %.2f", name, n/seconds))
		}
	}
	return strings.Join(parts, ", ")
}
