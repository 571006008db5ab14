package workload

import (
	"hash/maphash"
	"time"
)

// Alibaba cluster-trace-microservices, MSCallGraph: one call a row, many rows
// a trace, in no strict order. Read as a workload it is one request per trace,
// at the time of its first row. The 2021 files are a sample of 0.5 %: scale by
// 200 for the whole. AppFromCallGraph reads the same files as an application.

var alibaba2021CallGraph = &format{
	name:    "alibaba2021-callgraph",
	help:    "Alibaba microservices 2021 MSCallGraph: traces, counted as requests (a sample of 0.5 %)",
	columns: []string{"timestamp", "traceid", "rpcid", "um", "rpctype", "interface", "dm", "rt"},
	headed:  true,
	keys:    []string{"dm", "um", "interface", "rpctype", "traceid"},
	combine: CombineSum,
	open:    traceRows,
}

var alibaba2022CallGraph = &format{
	name: "alibaba2022-callgraph",
	help: "Alibaba microservices 2022 MSCallGraph: traces, counted as requests",
	columns: []string{"timestamp", "traceid", "service", "rpc_id", "um", "uminstanceid",
		"rpctype", "interface", "dm", "dminstanceid", "rt"},
	headed:  true,
	keys:    []string{"service", "dm", "um", "interface", "rpctype", "traceid"},
	combine: CombineSum,
	open:    traceRows,
}

func traceRows(in *input) func() {
	at, id := in.position("timestamp"), in.position("traceid")
	traces := newRecent(1 << 18)
	return func() {
		if !in.selected(in.field) {
			return
		}
		t, ok := in.instant("timestamp", in.fields[at], time.Millisecond)
		if !ok {
			return
		}
		if len(in.fields[id]) == 0 {
			in.fault("traceid", "", "must not be empty")
			return
		}
		if traces.add(in.fields[id]) {
			in.put(t, 1)
		}
	}
}

// recent keeps the last ids, so that a stream of any length counts each once in bounded memory:
// the rows of a trace are within seconds of each other. It keeps hashes; two of 2^18 ids
// collide once in 10^8 files.
type recent struct {
	seed  maphash.Seed
	known map[uint64]struct{}
	ring  []uint64
	size  int // of the full ring
	next  int
}

func newRecent(size int) *recent {
	return &recent{seed: maphash.MakeSeed(), known: make(map[uint64]struct{}), size: size}
}

// add reports whether the id is new.
func (r *recent) add(id []byte) bool {
	h := maphash.Bytes(r.seed, id)
	if _, ok := r.known[h]; ok {
		return false
	}
	r.known[h] = struct{}{}
	if len(r.ring) < r.size {
		r.ring = append(r.ring, h)
		return true
	}
	delete(r.known, r.ring[r.next])
	r.ring[r.next] = h
	r.next = (r.next + 1) % len(r.ring)
	return true
}
