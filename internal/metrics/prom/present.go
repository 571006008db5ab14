package prom

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lookBack is how old a sample may be that the server still answers with where a
// query names no window: Prometheus' own default.
const lookBack = 5 * time.Minute

// Oldest is how old the newest sample behind a query's answer can be at most.
func (q *Query) Oldest(s Setting) time.Duration {
	if strings.Contains(q.Text, "$window") {
		return s.Window()
	}
	return lookBack
}

// mostLooks is how many instants of a window are looked at for the newest scrape.
const mostLooks = 32

// NewestText is PromQL for the instant, in seconds, of the newest scrape behind a
// query: under the query's labels, or a single one for all where it does not say
// how it is found. A target that has just gone has no sample now, while its rates
// still have those of the window; so the window is looked through as well.
func (p *Preset) NewestText(q *Query, s Setting) (text string, forAll bool) {
	text = q.Newest
	if text == "" {
		text, forAll = fmt.Sprintf("max(timestamp(%s))", p.Probe), true
	}
	text = strings.TrimSpace(p.Expand(text, s))
	step := max(s.Scrape, (s.Window() / mostLooks).Truncate(time.Second), time.Second)
	return fmt.Sprintf("(%s) or max_over_time((%s)[%s:%s])", text, text, promDuration(s.Window()), promDuration(step)), forAll
}

// recently is how far back it is looked to see what is measured now.
const recently = 10 * time.Minute

// DetectNow finds the preset that fits a namespace at present.
func (c *Client) DetectNow(ctx context.Context, s Setting, now time.Time) (best *Preset, others []string, err error) {
	return c.Detect(ctx, s, now.Add(-recently), now)
}

// enough is how many samples of a window tell the time between them.
const enough = 4

// ScrapesNow finds how often a preset's series are scraped at present. Series may
// be younger than a window that they are counted in, which makes scrapes look rarer
// than they are, never more frequent: of several windows the densest is right. It is
// sure of itself once a window holds enough scrapes and there are older ones, and
// zero while there are not even two.
func (c *Client) ScrapesNow(ctx context.Context, p *Preset, s Setting, now time.Time) (every time.Duration, sure bool, err error) {
	windows := []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
		20 * time.Minute}
	probe := p.Expand(p.Probe, s)
	parts := make([]string, len(windows))
	for i, over := range windows {
		parts[i] = fmt.Sprintf(`label_replace(max(count_over_time(%s[%s])), "over", "%d", "", "")`, probe, promDuration(over), i)
	}
	found, err := c.Query(ctx, strings.Join(parts, " or "), now)
	if err != nil {
		return 0, false, fmt.Errorf("find how often the server scrapes: %w", err)
	}
	counts := make([]float64, len(windows))
	for _, v := range found {
		if i, err := strconv.Atoi(string(v.Metric["over"])); err == nil && i >= 0 && i < len(counts) {
			counts[i] = float64(v.Value)
		}
	}
	between := 0.0
	for i, n := range counts {
		if n < 2 {
			continue
		}
		// Both ends may fall on a scrape, or none: half of one is the mean excess.
		here := windows[i].Seconds() / (n - 0.5)
		certain := n >= enough && slices.Max(counts) > n
		if between == 0 || certain && !sure || certain == sure && here < between {
			between, sure = here, certain
		}
	}
	if between == 0 {
		return 0, false, nil
	}
	return nearestUsual(between), sure, nil
}
