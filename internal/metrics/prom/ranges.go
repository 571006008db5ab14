package prom

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// Span is a row of instants: Start, Start+Step and so on.
type Span struct {
	Start time.Time
	Step  time.Duration
	Steps int
}

// At is instant i.
func (s Span) At(i int) time.Time { return s.Start.Add(time.Duration(i) * s.Step) }

// unknownSeries is how many series a query is taken to yield before it has
// yielded any: a first answer of moderate size.
const unknownSeries = 100

// mostSlow is how many answers in a row may fail to come in time before the
// server is given up.
const mostSlow = 3

// Range asks for every instant of a span, in as many pieces as the server's
// limits want, and hands over each piece in order. The number of series that
// are expected (0 = not known) makes the first guess at the pieces, what comes
// back the later ones. If the server refuses a piece for its size, it is halved,
// and the others stay as small.
func (c *Client) Range(ctx context.Context, query string, span Span, expected int, each func(model.Matrix) error) (warnings []string,
	err error) {
	if expected == 0 {
		expected = unknownSeries
	}
	limit, slow := c.MaxPoints, 0
	for at := 0; at < span.Steps; {
		n := min(limit, c.MaxSamples/expected+1, span.Steps-at)
		matrix, warned, err := c.piece(ctx, query, Span{Start: span.At(at), Step: span.Step, Steps: n})
		var much errTooMuch
		if errors.As(err, &much) {
			if n == 1 {
				return warnings, fmt.Errorf("query %s: even a single point is too much for the server: %w; raise its limits "+
					"(--query.max-samples), or narrow the query with --queries", short(query), err)
			}
			if much.slow {
				slow++
			}
			if slow > mostSlow {
				return warnings, fmt.Errorf("query %s: even %d points take too long: %w", short(query), n, err)
			}
			limit = (n + 1) / 2
			continue
		}
		if err != nil {
			return warnings, fmt.Errorf("query %s: %w", short(query), err)
		}
		warnings = append(warnings, warned...)
		if err := each(matrix); err != nil {
			return warnings, err
		}
		at += n
		slow = 0
		if len(matrix) > 0 {
			expected = len(matrix)
		} else { // they may still begin
			expected = max(1, expected/2)
		}
	}
	return warnings, nil
}

func (c *Client) piece(ctx context.Context, query string, s Span) (model.Matrix, []string, error) {
	var matrix model.Matrix
	var warned []string
	err := c.ask(ctx, func(ctx context.Context) error {
		v, warnings, err := c.api.QueryRange(ctx, query, v1.Range{Start: s.Start, End: s.At(s.Steps - 1), Step: s.Step})
		if err != nil {
			return err
		}
		m, ok := v.(model.Matrix)
		if !ok {
			return fmt.Errorf("the answer is a %s, not a matrix", v.Type())
		}
		matrix, warned = m, warnings
		return nil
	})
	return matrix, warned, err
}
