package cluster

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// Fault is a fault of a job's metrics.
type Fault int

const (
	Well       Fault = iota
	Down             // the exporter answers with an error: its series end
	Frozen           // it answers with the values of the time when the fault began
	Empty            // it answers without metrics
	NotANumber       // all values are NaN
	Old              // all samples have a timestamp of an hour ago
	Zero             // all values are zero
	Behind           // its clock is 30 s behind: all samples have a timestamp of then
	Ahead            // its clock is 90 s ahead
)

// Jobs that Prometheus scrapes of a player, each an exporter that a real cluster
// has.
const (
	JobMesh      = "istio"
	JobCAdvisor  = "cadvisor"
	JobKubeState = "kube-state-metrics"
)

// JobKubelet is metrics-server's way to the same figures; SetFault takes it too.
const JobKubelet = "kubelet"

// Jobs are what Prometheus has to scrape for the application.
func (p *Player) Jobs() []Job {
	var jobs []Job
	for _, name := range []string{JobMesh, JobCAdvisor, JobKubeState} {
		jobs = append(jobs, Job{Name: name, Address: p.address, Path: "/" + name})
	}
	return jobs
}

// SetFault sets or clears a fault of a job's metrics.
func (p *Player) SetFault(job string, f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults[job] = f
	clear(p.frozen)
}

// HidePods takes the containers of these pods out of cAdvisor's metrics, as when the kubelets
// of their nodes are not scraped; those of all others are exposed.
func (p *Player) HidePods(names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hidden = map[string]bool{}
	for _, name := range names {
		p.hidden[name] = true
	}
}

func (p *Player) handler() http.Handler {
	mux := http.NewServeMux()
	for job, write := range map[string]func(*bytes.Buffer) error{
		JobMesh:      p.mesh,
		JobCAdvisor:  func(b *bytes.Buffer) error { p.cadvisor(b); return nil },
		JobKubeState: p.kubeState,
	} {
		mux.HandleFunc("/"+job, func(w http.ResponseWriter, r *http.Request) { p.serve(w, job, job, write) })
	}
	return mux
}

// serve answers one scrape. What is frozen is kept by key.
func (p *Player) serve(w http.ResponseWriter, job, key string, write func(*bytes.Buffer) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, kept := p.frozen[key]
	switch {
	case p.faults[job] == Down:
		http.Error(w, "this exporter is down, as the test wants it", http.StatusServiceUnavailable)
		return
	case p.faults[job] != Frozen || !kept:
		p.read()
		var b bytes.Buffer
		if err := write(&b); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		text = b.Bytes()
		if p.faults[job] == Frozen {
			p.frozen[key] = text
		}
	}
	text = p.faults[job].distort(text, time.Now())
	kind := "text/plain; version=0.0.4; charset=utf-8"
	if bytes.HasSuffix(text, []byte("# EOF\n")) {
		kind = "application/openmetrics-text; version=1.0.0; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(text) // the client may be gone
}

// read simulates until now and records the pods' usage. The lock is held.
func (p *Player) read() {
	p.advance()
	p.engine.Read(&p.reading)
	p.recorder.Watch(&p.reading, p.engine.ControlPlane())
	byID := map[int64]*podPlayed{}
	for _, played := range p.pods {
		if played.id != 0 {
			byID[played.id] = played
		}
	}
	for i := range p.reading.Services {
		s, last := &p.reading.Services[i], &p.services[i]
		ready := float64(max(1, p.engine.ControlPlane().Ready(i)))
		periods, throttled := (s.Of[loadline.ServiceQuotaPeriods]-last.periods)/ready,
			(s.Of[loadline.ServiceThrottled]-last.throttled)/ready
		last.periods, last.throttled = s.Of[loadline.ServiceQuotaPeriods], s.Of[loadline.ServiceThrottled]
		for _, pod := range s.Pods {
			played, known := byID[pod.ID]
			if !known {
				continue
			}
			played.cpu = max(played.cpu, played.startedWith+pod.CPUSeconds)
			played.memory = max(pod.MemoryBytes, 1)
			if played.serving {
				// The engine counts periods by service: its pods share them evenly.
				played.periods += periods
				played.throttled += throttled
			}
		}
	}
}

// mesh is the metrics of Istio's proxies.
func (p *Player) mesh(b *bytes.Buffer) error { return p.recorder.WriteLatest(b, "istio_") }

// cadvisor is the containers' usage.
func (p *Player) cadvisor(b *bytes.Buffer) {
	x := exporter{b}
	running := func(value func(*podPlayed) (float64, bool), name, kind string) {
		x.family(name, kind)
		for _, played := range p.pods {
			if v, shown := value(played); shown && played.running && !p.hidden[played.name] {
				node := ""
				if played.node >= 0 {
					node = p.app.Nodes[played.node].Name
				}
				x.sample(name, v, "namespace", p.namespace, "pod", played.name, "container", played.container, "node", node)
			}
		}
	}
	limited := func(v float64, q *podPlayed) (float64, bool) { return v, q.size.CPULimit > 0 }
	running(func(q *podPlayed) (float64, bool) { return q.cpu, true }, "container_cpu_usage_seconds_total", "counter")
	running(func(q *podPlayed) (float64, bool) { return q.memory, true }, "container_memory_working_set_bytes", "gauge")
	running(func(q *podPlayed) (float64, bool) { return limited(q.periods, q) }, "container_cpu_cfs_periods_total", "counter")
	running(func(q *podPlayed) (float64, bool) { return limited(q.throttled, q) }, "container_cpu_cfs_throttled_periods_total", "counter")
}

// exporter writes Prometheus' text format.
type exporter struct{ *bytes.Buffer }

func (x exporter) family(name, kind string) { fmt.Fprintf(x, "# TYPE %s %s\n", name, kind) }

// sample writes one value; labels are alternating names and values.
func (x exporter) sample(name string, value float64, labels ...string) {
	var list []string
	for i := 0; i+1 < len(labels); i += 2 {
		list = append(list, labels[i]+"="+strconv.Quote(labels[i+1]))
	}
	if len(list) > 0 {
		name += "{" + strings.Join(list, ",") + "}"
	}
	x.WriteString(name + " " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}
