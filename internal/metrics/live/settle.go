package live

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/loadline/loadline/internal/metrics/prom"
)

// guess is how often scrapes are taken to be made until that can be seen: seldom
// enough that the window holds two of any usual ones.
const guess = 30 * time.Second

// queued reports whether a service takes its work from a queue.
func (s *Source) queued(service string) bool {
	return slices.ContainsFunc(s.o.Queues, func(q prom.Queue) bool { return q.Service == service })
}

// settled is what need not be found out again.
type settled struct {
	preset *prom.Preset
	others []string // presets that would fit too
	scrape time.Duration
	sure   bool // of the time between scrapes
}

// settle finds out what is not given and not known yet. What is not certain is
// looked at again the next time.
func (s *Source) settle(ctx context.Context, now time.Time) error {
	if s.settled.preset == nil {
		best, others, err := s.client.DetectNow(ctx, s.setting(guess), now)
		if err != nil {
			return err
		}
		if err := best.Override(s.o.Variables); err != nil {
			return err
		}
		s.settled.preset, s.settled.others = best, others
	}
	if !s.settled.sure {
		every, sure, err := s.client.ScrapesNow(ctx, s.settled.preset, s.setting(guess), now)
		switch {
		case errors.Is(err, prom.ErrRefused), errors.Is(err, prom.ErrUnreachable), err != nil && ctx.Err() != nil:
			return err
		case err != nil, every == 0: // the other queries need not suffer from it
			every = guess
		}
		if every != s.settled.scrape {
			s.plan = nil
		}
		s.settled.scrape, s.settled.sure = every, sure
	}
	if s.plan == nil {
		preset, err := s.settled.preset.WithQueues(s.o.Queues, false)
		if err != nil {
			return err
		}
		s.plan = newPlan(preset, s.setting(s.settled.scrape), s.o.Kinds)
	}
	return nil
}

func (s *Source) setting(scrape time.Duration) prom.Setting {
	return prom.Setting{Namespace: s.o.Namespace, Step: max(s.o.Window, scrape), Scrape: scrape, Variables: s.o.Variables}
}
