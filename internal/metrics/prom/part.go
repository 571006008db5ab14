package prom

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/prometheus/common/model"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

// job is one query of a pull, and what it has shown so far.
type job struct {
	of       string // "service", "call" or "node"
	metric   int
	query    *Query
	text     string // with the variables' values
	expected int    // series that it yielded last time
}

func (j *job) about() loadline.Metric {
	switch j.of {
	case "call":
		return history.CallMetric(j.metric).About()
	case "node":
		return history.NodeMetric(j.metric).About()
	}
	return history.ServiceMetric(j.metric).About()
}

func (j *job) name() string { return j.about().Name }

// jobs are the queries that a preset has.
func jobs(p *Preset, s Setting) []*job {
	var list []*job
	for _, m := range loadline.ServiceTable.Columns() {
		q := p.Service[m]
		if q != nil && q.Text != "" {
			list = append(list, &job{of: "service", metric: int(m), query: q, text: p.Expand(q.Text, s)})
		}
	}
	for _, m := range loadline.CallTable.Columns() {
		q := p.Calls[m]
		if q != nil && q.Text != "" {
			list = append(list, &job{of: "call", metric: int(m), query: q, text: p.Expand(q.Text, s)})
		}
	}
	for _, m := range loadline.NodeTable.Columns() {
		q := p.Nodes[m]
		if q != nil && q.Text != "" {
			list = append(list, &job{of: "node", metric: int(m), query: q, text: p.Expand(q.Text, s)})
		}
	}
	return list
}

// part gathers one stretch of the past in memory.
type part struct {
	span Span

	mu       sync.Mutex
	services map[string]*history.Service
	calls    map[callKey]*history.Calls
	nodes    map[string]*history.Node
	seen     *Seen
}

type callKey struct{ from, to, operation string }

// readPart runs every query over a span, several at once.
func readPart(ctx context.Context, c *Client, list []*job, span Span, seen *Seen, done func()) (*history.History, error) {
	p := &part{span: span, services: map[string]*history.Service{}, calls: map[callKey]*history.Calls{},
		nodes: map[string]*history.Node{}, seen: seen}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work := make(chan *job)
	var wg sync.WaitGroup
	for range min(c.server.AtOnce, len(list)) {
		wg.Go(func() {
			for j := range work {
				if err := p.read(ctx, c, j); err != nil {
					stop(err) // the first failure ends them all
					return
				}
				done()
			}
		})
	}
feed:
	for _, j := range list {
		select {
		case work <- j:
		case <-ctx.Done():
			break feed
		}
	}
	close(work)
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return p.history(), nil
}

func (p *part) read(ctx context.Context, c *Client, j *job) error {
	series := 0
	warnings, err := c.Range(ctx, j.text, p.span, j.expected, func(m model.Matrix) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		series = max(series, len(m))
		for _, s := range m {
			p.put(j, s)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", j.of, j.name(), err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	j.expected = max(j.expected, series)
	for _, w := range warnings {
		p.seen.note("the server warns: " + w)
	}
	return nil
}

// put takes a series into the metric of whom its labels name.
func (p *part) put(j *job, s *model.SampleStream) {
	into, who := p.series(j, s.Metric)
	if into == nil {
		p.seen.note(fmt.Sprintf("%s %s: series without a name in %s are left out", j.of, j.name(), j.labels()))
		return
	}
	if *into == nil {
		*into = history.NewSeries(p.span.Steps)
	}
	present := false
	for _, v := range s.Values {
		since := v.Timestamp.Time().Sub(p.span.Start)
		i := int(since / p.span.Step)
		if since < 0 || i >= p.span.Steps {
			continue
		}
		value := float64(v.Value) * j.query.Scale
		if math.IsNaN(value) || math.IsInf(value, 0) {
			p.seen.note(fmt.Sprintf("%s %s: NaN or infinite in places, absent there: no requests, or a histogram without bounds", j.of,
				j.name()))
			continue
		}
		if old := (*into)[i]; !math.IsNaN(float64(old)) {
			p.seen.note(fmt.Sprintf("%s %s: several series have one name (%s): %s", j.of, j.name(), who, j.merging()))
			value = j.merge(float64(old), value)
		}
		(*into)[i] = float32(value)
		present = true
		p.seen.at(p.span.At(i))
	}
	if present {
		p.seen.value(j.of, j.name(), who)
	}
}

// series is where a series' values go, and the name of whom it speaks of; nil
// if its labels name nobody.
func (p *part) series(j *job, metric model.Metric) (*history.Series, string) {
	label := func(name string) string { return string(metric[model.LabelName(name)]) }
	if j.of == "service" {
		name := j.query.Service.Of(label)
		if name == "" {
			return nil, ""
		}
		s := p.services[name]
		if s == nil {
			s = &history.Service{Name: name}
			p.services[name] = s
		}
		return &s.Series[j.metric], name
	}
	if j.of == "node" {
		name := j.query.Node.Of(label)
		if name == "" {
			return nil, ""
		}
		n := p.nodes[name]
		if n == nil {
			n = &history.Node{Name: name}
			p.nodes[name] = n
		}
		return &n.Series[j.metric], name
	}
	var key callKey
	key.from, key.to, key.operation = j.query.Ends(label)
	if key.to == "" {
		return nil, ""
	}
	s := p.calls[key]
	if s == nil {
		s = &history.Calls{From: key.from, To: key.to, Operation: key.operation}
		p.calls[key] = s
	}
	return &s.Series[j.metric], key.from + " to " + key.to
}

func (j *job) labels() string {
	switch j.of {
	case "call":
		return j.query.To.String()
	case "node":
		return j.query.Node.String()
	}
	return j.query.Service.String()
}

// adds says whether two series of one name are parts of a whole.
func (j *job) adds() bool { return j.about().Aggregation.Adds() }

func (j *job) merge(a, b float64) float64 {
	if j.adds() {
		return a + b
	}
	return max(a, b)
}

func (j *job) merging() string {
	if j.adds() {
		return "they are added"
	}
	return "the largest counts"
}

// history is what was gathered.
func (p *part) history() *history.History {
	h := &history.History{Start: p.span.Start, Step: p.span.Step, Steps: p.span.Steps}
	for _, s := range p.services {
		h.Services = append(h.Services, *s)
	}
	for _, c := range p.calls {
		h.Calls = append(h.Calls, *c)
	}
	for _, n := range p.nodes {
		h.Nodes = append(h.Nodes, *n)
	}
	h.Tidy()
	return h
}

// stepEnd rounds an instant down to a multiple of the step, so that all pulls
// ask for the same instants and servers can answer from their caches.
func stepEnd(t time.Time, step time.Duration) time.Time {
	return time.UnixMilli(t.UnixMilli() / step.Milliseconds() * step.Milliseconds()).UTC()
}
