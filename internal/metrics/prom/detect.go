package prom

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/loadline/loadline/internal/suggest"
)

// looks is how many instants of the past are looked at to see what is there.
const looks = 25

// coarse is a few instants spread over the past.
func coarse(start, end time.Time) Span {
	step := max(end.Sub(start)/(looks-1), time.Minute).Truncate(time.Second)
	return Span{Start: start, Step: step, Steps: int(end.Sub(start)/step) + 1}
}

// fit is how well a server has what a preset asks for.
type fit int

const (
	noSeries   fit = iota
	noNumbers      // the series exist, all of their values are NaN
	hasNumbers     // the preset can be used
)

// fits looks for what a preset's probe selects.
func (c *Client) fits(ctx context.Context, p *Preset, s Setting, start, end time.Time) (fit, error) {
	found := noSeries
	span := coarse(start, end)
	series := fmt.Sprintf("last_over_time(%s[%s])", p.Expand(p.Probe, s), promDuration(min(span.Step, time.Hour)))
	// No comparison holds for NaN: where there are no numbers, 0 remains.
	query := fmt.Sprintf("count(%s > -Inf) or 0 * count(%s)", series, series)
	_, err := c.Range(ctx, query, span, 1, func(m model.Matrix) error {
		for _, s := range m {
			for _, v := range s.Values {
				if found = max(found, noNumbers); v.Value > 0 {
					found = hasNumbers
				}
			}
		}
		return nil
	})
	if err != nil {
		return noSeries, fmt.Errorf("look for what preset %s needs: %w", p.Name, err)
	}
	return found, nil
}

// onlyNaN is the error for presets whose series have no numbers.
func onlyNaN(presets []string, namespace string, start, end time.Time) error {
	return fmt.Errorf("%w: every value of the series of %s in namespace %s is NaN between %s and %s: check the exporter, and "+
		"recording rules or relabelling that make these series", ErrNothing, strings.Join(presets, ", "), namespace,
		start.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339))
}

// Detect finds the preset that fits a namespace: the first of those that
// measure traffic. Others that would fit as well are named too.
func (c *Client) Detect(ctx context.Context, s Setting, start, end time.Time) (best *Preset, others []string, err error) {
	var empty []string
	for _, name := range traffic {
		p, err := Load(name)
		if err != nil {
			return nil, nil, err
		}
		found, err := c.fits(ctx, p, s, start, end)
		switch {
		case err != nil:
			return nil, nil, err
		case found == noNumbers:
			empty = append(empty, name)
		case found == hasNumbers && best == nil:
			best = p
		case found == hasNumbers:
			others = append(others, name)
		}
	}
	if best == nil && len(empty) > 0 {
		return nil, nil, onlyNaN(empty, s.Namespace, start, end)
	}
	if best == nil {
		return nil, nil, c.nothing(ctx, nil, s.Namespace, start, end)
	}
	return best, others, nil
}

// ErrNothing is a server that knows nothing of an application.
var ErrNothing = errors.New("no metrics are found")

// nothing says why a preset, or none at all, fits: most often the namespace is
// misspelt.
func (c *Client) nothing(ctx context.Context, p *Preset, namespace string, start, end time.Time) error {
	when := fmt.Sprintf("between %s and %s", start.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339))
	label, presets := "namespace", strings.Join(traffic, ", ")
	if p != nil {
		label, presets = p.NamespaceLabel, p.Name
	}
	known, err := c.LabelValues(ctx, label, start, end)
	if err != nil {
		return err
	}
	switch {
	case slices.Contains(known, namespace):
		return fmt.Errorf("%w: namespace %s has metrics %s, but not those of the presets that were tried (%s); are they scraped? "+
			"Give queries of your own, or take resources alone with the preset cadvisor-ksm", ErrNothing, namespace, when, presets)
	case len(known) == 0:
		return fmt.Errorf("%w: the server has nothing with the label %s %s (tried for: %s); check the times that were asked for, how "+
			"long the server keeps its data, and the preset", ErrNothing, label, when, presets)
	}
	return fmt.Errorf("%w: the server knows no namespace %q %s (label %s)%s", ErrNothing, namespace, when, label,
		suggest.Hint(namespace, known))
}

// usual are the times between scrapes that people set.
var usual = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 20 * time.Second,
	30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute}

var errNoScrapes = errors.New("no series has two samples within ten minutes")

// ScrapeInterval finds how often a preset's series are scraped, from how many
// samples they have.
func (c *Client) ScrapeInterval(ctx context.Context, p *Preset, s Setting, start, end time.Time) (time.Duration, error) {
	const over = 10 * time.Minute
	most := 0.0
	query := fmt.Sprintf("max(count_over_time(%s[%s]))", p.Expand(p.Probe, s), promDuration(over))
	_, err := c.Range(ctx, query, coarse(start, end), 1, func(m model.Matrix) error {
		for _, series := range m {
			for _, v := range series.Values {
				most = math.Max(most, float64(v.Value))
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("find how often the server scrapes: %w", err)
	}
	if most < 2 {
		return 0, errNoScrapes
	}
	return nearestUsual(over.Seconds() / most), nil
}

// nearestUsual is the usual time that so many seconds are most likely meant to be.
func nearestUsual(seconds float64) time.Duration {
	best := usual[0]
	for _, d := range usual {
		if math.Abs(math.Log(d.Seconds()/seconds)) < math.Abs(math.Log(best.Seconds()/seconds)) {
			best = d
		}
	}
	return best
}
