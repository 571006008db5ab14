package validate

import (
	"context"
	"strings"
)

const openFaaSFile = "dfaas_openfaas/faas_samples.csv.gz"

// faasSample is one constant load of 30 s on one node: up to three functions at once. The class
// is the size of the machine.
type faasSample struct {
	Class     string
	File      string
	Node      float64 // cores in use
	Functions []faasFunction
}

// faasFunction is one function's part in it.
type faasFunction struct {
	Name       string
	Rate       float64 // per second
	Success    float64 // share
	Cores      float64 // in use, of all its replicas
	Replicas   int
	Overloaded bool
	LatencyMs  float64 // mean
}

func (s *faasSample) rate() float64 {
	sum := 0.0
	for i := range s.Functions {
		sum += s.Functions[i].Rate
	}
	return sum
}

// cores in use by functions.
func (s *faasSample) cores() float64 {
	sum := 0.0
	for i := range s.Functions {
		sum += s.Functions[i].Cores
	}
	return sum
}

// readOpenFaaS returns the samples in the order of the file.
func readOpenFaaS(ctx context.Context, dir string) ([]faasSample, error) {
	var samples []faasSample
	err := readGzip(dir, openFaaSFile, func(t *table) error {
		last := ""
		for t.next() {
			// Rows of one sample are adjacent and share file and row number.
			id := t.text("class") + "/" + t.text("file") + "/" + t.text("row")
			if id != last {
				last = id
				if err := ctx.Err(); err != nil {
					return err
				}
				samples = append(samples, faasSample{
					Class: strings.Clone(t.text("class")), File: strings.Clone(t.text("file")), Node: t.number("node_cpu_pct") / 100,
				})
			}
			s := &samples[len(samples)-1]
			s.Functions = append(s.Functions, faasFunction{
				Name: strings.Clone(t.text("function")), Rate: t.number("rate_rps"), Success: t.number("success_rate"),
				Cores:    t.number("cpu_usage") / 100,
				Replicas: int(t.number("replicas")), Overloaded: t.number("overloaded") > 0, LatencyMs: t.number("latency_ms"),
			})
		}
		return t.err
	})
	return samples, err
}

// splitByFile uses every second file of a class for the fit: rows of one file are neighbours in
// load and time, and would leak into each other.
func splitByFile(samples []faasSample) (fit, held []faasSample) {
	place := map[string]int{} // index of a file among those of its class
	count := map[string]int{}
	for _, s := range samples {
		id := s.Class + "/" + s.File
		if _, seen := place[id]; !seen {
			place[id] = count[s.Class]
			count[s.Class]++
		}
		if place[id]%2 == 0 {
			fit = append(fit, s)
		} else {
			held = append(held, s)
		}
	}
	return fit, held
}
