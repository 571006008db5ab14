package measure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Server is one process and the load that it gets.
type Server struct {
	Name    string
	Weight  int     // cpu.shares: 1024 per requested core
	Quota   float64 // cores; 0 = no limit
	Workers int     // requests at once; 0 = a thread for every request
	CPUs    string  // as in cpuset.cpus: one core or a range
	Demand  time.Duration
	CV      float64 // of the demand
	Rate    float64 // requests per second
	// Every makes arrivals regular instead of random: a burst of CPU that returns, as when
	// pods start one after the other.
	Every time.Duration
}

// Run is one experiment.
type Run struct {
	Name    string
	Kind    string // weights, startup or quota
	Servers []Server
}

// Length of a run. Requests that arrive in the first part are not counted.
const (
	Length = 30 * time.Second
	WarmUp = 5 * time.Second
)

// cores that the server may run on.
func (s Server) cores() []int {
	first, last, isRange := strings.Cut(s.CPUs, "-")
	if !isRange {
		last = first
	}
	from, errFrom := strconv.Atoi(first)
	to, errTo := strconv.Atoi(last)
	if errFrom != nil || errTo != nil {
		panic("measure: CPUs of a plan: " + s.CPUs)
	}
	var out []int
	for cpu := from; cpu <= to; cpu++ {
		out = append(out, cpu)
	}
	return out
}

// serverCPU has the servers of runs on a shared core, loadCPU the load generator.
const serverCPU, loadCPU = "1", "0"

// ContentionRuns are all experiments, in the order in which they are run.
func ContentionRuns() []Run {
	return slices.Concat(quotaRuns(), startupRuns(), weightRuns())
}

// weightRuns have two to four servers of unequal weight on one core.
func weightRuns() []Run {
	ms := time.Millisecond
	sets := []struct {
		name    string
		servers []Server
		shares  []float64 // of the load
	}{
		{"two", []Server{{Weight: 512, Demand: 5 * ms, CV: 0.5}, {Weight: 256, Demand: 10 * ms, CV: 0.8}}, []float64{0.33, 0.67}},
		{"tenth", []Server{{Weight: 102, Demand: 5 * ms, CV: 0.5}, {Weight: 1024, Demand: 10 * ms, CV: 0.8}}, []float64{0.25, 0.75}},
		{"three", []Server{
			{Weight: 1024, Demand: 5 * ms, CV: 0.5}, {Weight: 512, Demand: 10 * ms, CV: 0.8}, {Weight: 256, Demand: 20 * ms, CV: 1},
		}, []float64{0.34, 0.33, 0.33}},
		{"four", []Server{
			{Weight: 1024, Demand: 5 * ms, CV: 0.5}, {Weight: 512, Demand: 10 * ms, CV: 0.8},
			{Weight: 256, Demand: 10 * ms, CV: 0.8}, {Weight: 128, Demand: 20 * ms, CV: 0.5},
		}, []float64{0.25, 0.25, 0.25, 0.25}},
	}
	var runs []Run
	for _, set := range sets {
		for _, load := range []float64{0.5, 0.65, 0.8, 0.9, 1} {
			run := Run{Name: fmt.Sprintf("%s-%.0f", set.name, 100*load), Kind: "weights"}
			for i, s := range set.servers {
				s.Name, s.CPUs = serverName(i), serverCPU
				s.Rate = load * set.shares[i] / s.Demand.Seconds()
				run.Servers = append(run.Servers, s)
			}
			runs = append(runs, run)
		}
	}
	return runs
}

// startupRuns have a server beside a process that starts every 8 s and burns 3 s of CPU.
func startupRuns() []Run {
	var runs []Run
	for _, burner := range []int{256, 1024} {
		for _, load := range []float64{0.2, 0.35, 0.5} {
			demand := 10 * time.Millisecond
			runs = append(runs, Run{Name: fmt.Sprintf("start%d-%.0f", burner, 100*load), Kind: "startup", Servers: []Server{
				{Name: serverName(0), Weight: 512, CPUs: serverCPU, Demand: demand, CV: 0.8, Rate: load / demand.Seconds()},
				{Name: serverName(1), Weight: burner, CPUs: serverCPU, Demand: 3 * time.Second, Every: 8 * time.Second},
			}})
		}
	}
	return runs
}

// quotaRuns have one server under a quota, on one core or on both, with one worker or with a
// thread for every request. The load is a share of the quota.
func quotaRuns() []Run {
	ms := time.Millisecond
	sets := []struct {
		name  string
		s     Server
		loads []float64
	}{
		{"half-one-worker", Server{Quota: 0.5, Workers: 1, CPUs: serverCPU, Demand: 10 * ms, CV: 0.8}, []float64{0.2, 0.4, 0.6, 0.75, 0.9}},
		{"half-threads", Server{Quota: 0.5, CPUs: "0-1", Demand: 10 * ms, CV: 0.8}, []float64{0.2, 0.4, 0.6, 0.75, 0.9}},
		{"core-threads", Server{Quota: 1, CPUs: "0-1", Demand: 10 * ms, CV: 0.8}, []float64{0.4, 0.6, 0.75, 0.9}},
		{"fifth-threads", Server{Quota: 0.2, CPUs: serverCPU, Demand: 5 * ms, CV: 0.5}, []float64{0.3, 0.6, 0.9}},
	}
	var runs []Run
	for _, set := range sets {
		for _, load := range set.loads {
			s := set.s
			s.Name, s.Weight = serverName(0), int(1024*s.Quota)
			s.Rate = load * s.Quota / s.Demand.Seconds()
			runs = append(runs, Run{Name: fmt.Sprintf("%s-%.0f", set.name, 100*load), Kind: "quota", Servers: []Server{s}})
		}
	}
	return runs
}

func serverName(i int) string { return string(rune('a' + i)) }
