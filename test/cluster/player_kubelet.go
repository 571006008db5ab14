package cluster

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// kubelets answer metrics-server for all fake nodes: the resource usage of containers, at
// /metrics/resource. They share one address, with a path for each node (see node).
type kubelets struct {
	port   int
	server *http.Server

	mu      sync.Mutex
	players []*Player
}

func kubeletPath(node string) string { return "/nodes/" + node + "/metrics/resource" }

func serveKubelets(p *pki) (*kubelets, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	k := &kubelets{port: listener.Addr().(*net.TCPAddr).Port}
	mux := http.NewServeMux()
	mux.HandleFunc(kubeletPath("{node}"), func(w http.ResponseWriter, r *http.Request) { k.answer(w, r.PathValue("node")) })
	k.server = &http.Server{Handler: mux}
	go k.server.ServeTLS(listener, p.cert("server"), p.key("server")) // until it is closed
	return k, nil
}

func (k *kubelets) stop() { _ = k.server.Close() }

func (k *kubelets) join(p *Player) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.players = append(k.players, p)
}

func (k *kubelets) leave(p *Player) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.players = slices.DeleteFunc(k.players, func(q *Player) bool { return q == p })
}

// answer writes the simulated containers of a node, and the node as their sum.
func (k *kubelets) answer(w http.ResponseWriter, node string) {
	k.mu.Lock()
	players := slices.Clone(k.players)
	k.mu.Unlock()
	cpu, memory := 1.0, 1e8 // of the node itself
	var b bytes.Buffer
	for _, p := range players {
		text := &answer{header: http.Header{}}
		p.serve(text, JobKubelet, JobKubelet+node, func(b *bytes.Buffer) error { p.resources(b, node); return nil })
		if text.code == 0 {
			b.Write(text.Bytes())
		}
		c, m := p.used(node)
		cpu, memory = cpu+c, memory+m
	}
	now := time.Now().UnixMilli()
	fmt.Fprintf(&b, "node_cpu_usage_seconds_total %g %d\nnode_memory_working_set_bytes %g %d\n", cpu, now, memory, now)
	_, _ = w.Write(b.Bytes())
}

// resources writes what the containers on a node have used. The lock is held.
func (p *Player) resources(b *bytes.Buffer, node string) {
	now := time.Now().UnixMilli()
	for _, played := range p.pods {
		if !played.running || !p.on(played, node) {
			continue
		}
		labels := fmt.Sprintf("{container=%q,namespace=%q,pod=%q}", played.container, p.namespace, played.name)
		fmt.Fprintf(b, "container_cpu_usage_seconds_total%s %.9f %d\n", labels, played.cpu, now)
		fmt.Fprintf(b, "container_memory_working_set_bytes%s %.0f %d\n", labels, played.memory, now)
	}
}

// used sums up the pods of a node. CPU time includes deleted ones: a counter never decreases.
func (p *Player) used(node string) (cpu, memory float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, played := range p.pods {
		if !p.on(played, node) {
			continue
		}
		cpu += played.cpu
		if played.running {
			memory += played.memory
		}
	}
	return cpu, memory
}

func (p *Player) on(played *podPlayed, node string) bool {
	return played.node >= 0 && p.app.Nodes[played.node].Name == node
}

// answer collects what a handler writes.
type answer struct {
	bytes.Buffer
	header http.Header
	code   int // 0 = it was well
}

func (a *answer) Header() http.Header  { return a.header }
func (a *answer) WriteHeader(code int) { a.code = code }
