package realapp

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// Arrival is one request of a user.
type Arrival struct {
	Due  time.Duration // since the start
	Kind int
}

// Schedule draws the arrivals of a load over a time, in their order: Poisson, as in the event engine.
func Schedule(app *loadline.App, load sim.Arrivals, d time.Duration, rng *rand.Rand) []Arrival {
	var all []Arrival
	for kind := range app.Kinds {
		for t := time.Duration(0); t < d; {
			rate, until := load.Rate(kind, t)
			if rate <= 0 {
				t = until
				continue
			}
			// Gaps without memory: one that reaches beyond the rate's end is drawn anew from there.
			t += time.Duration(rng.ExpFloat64() / rate * 1e9)
			if t >= until {
				t = until
				continue
			}
			if t < d {
				all = append(all, Arrival{t, kind})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Arrival) int { return cmp.Compare(a.Due, b.Due) })
	return all
}

// Answer is what became of one request.
type Answer struct {
	Kind    int
	Due     time.Duration // since the start
	Late    time.Duration // that it was sent after it was due: the generator's fault
	Latency time.Duration // since it was due
	Failed  bool
}

// Generator sends users' requests open-loop: each when it is due, however many are unanswered.
// Latency counts from the due time, so that a late generator or a full connection pool shows in it.
type Generator struct {
	App    *loadline.App
	Client *http.Client
	Entry  func(service string) string // address of a service that users call, host:port
	Sleep  func(until time.Time)       // nil = time.Sleep
}

// Send sends the arrivals and waits for all answers. If the context ends, what was not sent is left out.
func (g *Generator) Send(ctx context.Context, start time.Time, arrivals []Arrival) []Answer {
	answers := make([]Answer, len(arrivals))
	sleep := g.Sleep
	if sleep == nil {
		sleep = func(until time.Time) { time.Sleep(time.Until(until)) }
	}
	var group sync.WaitGroup
	for i, a := range arrivals {
		due := start.Add(a.Due)
		sleep(due)
		if ctx.Err() != nil {
			answers = answers[:i]
			break
		}
		kind := &g.App.Kinds[a.Kind]
		url := "http://" + g.Entry(g.App.Services[kind.Root.Service].Name) + "/" + kind.Name
		answers[i] = Answer{Kind: a.Kind, Due: a.Due, Late: time.Since(due)}
		group.Go(func() {
			answers[i].Failed = get(ctx, g.Client, url, kind.Timeout) != nil
			answers[i].Latency = time.Since(due)
		})
	}
	group.Wait()
	return answers
}

// Lateness is the quantile of how late requests were sent; 0 without any.
func Lateness(answers []Answer, q float64) time.Duration {
	if len(answers) == 0 {
		return 0
	}
	late := make([]time.Duration, len(answers))
	for i := range answers {
		late[i] = answers[i].Late
	}
	slices.Sort(late)
	return late[min(int(q*float64(len(late))), len(late)-1)]
}
