package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"time"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/decisionlog"
)

// thenFor is how long after a decision what came of it is reported, unless the service changes before.
const thenFor = 10 * time.Minute

// Decision is one service's part of a decision: what was seen, forecast, proposed, corrected and
// expected, and what then came.
type Decision struct {
	decisionlog.Explanation
	// Then is absent until there is a whole step after the decision.
	Then *Then `json:"then,omitempty"`
}

// Then is what was measured after a decision, until the next change of the service or thenFor, and in
// whole steps: the one of the decision is left out. Values that were not measured are absent.
type Then struct {
	From      time.Time `json:"from"`
	Until     time.Time `json:"until"`
	Rate      *float64  `json:"rate,omitempty"`           // highest, visits per second
	Latency   *float64  `json:"p99_s,omitempty"`          // highest
	Throttled *float64  `json:"throttled,omitempty"`      // highest
	Ready     *float64  `json:"replicas_ready,omitempty"` // at the end
	OverSLO   *float64  `json:"over_slo,omitempty"`       // share of all requests over the SLO or failed
	PerHour   *float64  `json:"per_hour,omitempty"`       // of the application at the end
}

// decision of a service from the observation of an instant.
func (s *Server) decision(ctx context.Context, l *v1alpha1.LoadLine, r *http.Request) (any, error) {
	service := r.URL.Query().Get("service")
	at, err := s.at(r)
	if err != nil {
		return nil, err
	}
	if service == "" || at.IsZero() {
		return nil, fault{http.StatusBadRequest, "service and at are needed, as a change has them"}
	}
	reader, done, err := s.open(ctx, l)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, decisionlog.ErrEmpty) {
		return nil, fault{http.StatusNotFound, "no decision has been recorded yet"}
	}
	if err != nil {
		return nil, err
	}
	defer done()
	e, err := reader.At(at, service)
	if errors.Is(err, decisionlog.ErrNoDecision) {
		return nil, fault{http.StatusNotFound, fmt.Sprintf("no decision about %q was recorded at %s", service, at.UTC().Format(time.RFC3339Nano))}
	}
	if err != nil {
		return nil, err
	}
	return Decision{e, s.pastOf(l).then(at, service)}, nil
}

// then is what came after a decision; nil = nothing is known.
func (p *past) then(at time.Time, service string) *Then {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, known := p.index[service]
	if !known {
		return nil
	}
	until := at.Add(thenFor)
	for _, c := range p.changes {
		if c.Service == service && c.At.After(at) && c.At.Before(until) {
			until = c.At
		}
	}
	var t *Then
	var requests, over float64
	for k := range p.points {
		q := &p.points[k]
		if !q.at.After(at) || q.at.Add(Step).After(until) || k == len(p.points)-1 { // the last step may not be over
			continue
		}
		if t == nil {
			t = &Then{From: q.at}
		}
		t.Until = q.at.Add(Step)
		if i < len(q.services) {
			w := &q.services[i]
			t.Rate, t.Latency, t.Throttled = highest(t.Rate, w.rate), highest(t.Latency, w.latency), highest(t.Throttled, w.throttled)
			t.Ready = latest(t.Ready, w.ready)
		}
		t.PerHour = latest(t.PerHour, q.perHour)
		for j := range q.kinds {
			requests, over = requests+q.kinds[j].requests, over+q.kinds[j].over
		}
	}
	if t != nil && requests > 0 {
		share := over / requests
		t.OverSLO = &share
	}
	return t
}

func highest(so *float64, v float32) *float64 {
	if so != nil && *so >= float64(v) {
		return so
	}
	return latest(so, v)
}

func latest(so *float64, v float32) *float64 {
	if x := float64(v); !math.IsNaN(x) {
		return &x
	}
	return so
}
