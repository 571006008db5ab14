package prom

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
)

// Glance is a short look at the recent past of a namespace, which is kept in memory: enough to see
// which services there are, who calls whom, and how fast they answer.
type Glance struct {
	Preset  string        `json:"preset"`
	Others  []string      `json:"others,omitempty"` // presets that would fit as well
	Scrape  time.Duration `json:"scrape"`           // between two scrapes
	History *history.History
	Notes   []string
}

// glances are the metrics that are read.
var glances = struct {
	service []loadline.ServiceMetric
	call    []loadline.CallMetric
}{
	[]loadline.ServiceMetric{loadline.ServiceRate, loadline.ServiceCPU, loadline.ServiceReady, loadline.ServiceLatencyP99},
	[]loadline.CallMetric{loadline.CallRate, loadline.CallP99},
}

// Look reads a namespace over a span that ends now. A nil preset is the first that fits. The error
// is ErrNothing where no requests are measured.
func (c *Client) Look(ctx context.Context, namespace string, preset *Preset, now time.Time, since, step time.Duration) (*Glance, error) {
	if err := CheckNamespace(namespace); err != nil {
		return nil, err
	}
	// The last instant is now: a namespace may have been measured for a minute only.
	span := Span{Start: now.Add(-since).Add(step), Step: step, Steps: int(since / step)}
	g := &Glance{}
	s := Setting{Namespace: namespace, Step: step}
	if preset == nil {
		var err error
		if preset, g.Others, err = c.Detect(ctx, s, span.Start, now); err != nil {
			return nil, err
		}
	}
	g.Preset = preset.Name
	var err error
	if g.Scrape, err = c.ScrapeInterval(ctx, preset, s, span.Start, now); errors.Is(err, errNoScrapes) {
		g.Scrape, err = 0, nil
	}
	if err != nil {
		return nil, err
	}
	s.Scrape = g.Scrape
	list := slices.DeleteFunc(jobs(preset, s), func(j *job) bool {
		switch j.of {
		case "service":
			return !slices.Contains(glances.service, loadline.ServiceMetric(j.metric))
		case "call":
			return !slices.Contains(glances.call, loadline.CallMetric(j.metric))
		}
		return true
	})
	seen := &Seen{Values: map[string][]string{}}
	if g.History, err = readPart(ctx, c, list, span, seen, func() {}); err != nil {
		return nil, err
	}
	g.History.Manifest.Namespace, g.History.Manifest.Preset = namespace, preset.Name
	g.Notes = seen.Notes
	return g, nil
}
