package measure

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// request is one arrival: when it is due, and the CPU that it burns.
type request struct {
	due, cpu time.Duration
}

// requests draws the arrivals of a server over a run.
func (s Server) requests(rng *rand.Rand) []request {
	var out []request
	if s.Every > 0 {
		for due := time.Duration(0); due < Length; due += s.Every {
			out = append(out, request{due, s.Demand})
		}
		return out
	}
	deviation := math.Sqrt(math.Log1p(s.CV * s.CV))
	for due := 0.0; ; {
		due += rng.ExpFloat64() / s.Rate
		if due >= Length.Seconds() {
			return out
		}
		factor := math.Exp(deviation*rng.NormFloat64() - deviation*deviation/2)
		out = append(out, request{time.Duration(due * 1e9), time.Duration(factor * float64(s.Demand))})
	}
}

// answered is what the generator has seen of one server, without the warm-up.
type answered struct {
	sent      int
	failed    int
	latencyMs []float64 // sorted
}

// send sends the requests open-loop, each when it is due, and waits for all answers. Latency
// counts from the due time, so a late generator shows in it.
func send(ctx context.Context, client *http.Client, address string, requests []request,
	start time.Time, sleep func(until time.Time)) answered {
	var out answered
	var lock sync.Mutex
	var group sync.WaitGroup
	for _, r := range requests {
		due := start.Add(r.due)
		sleep(due)
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			err := burnAt(ctx, client, address, r.cpu)
			latency := time.Since(due)
			if r.due < WarmUp {
				return
			}
			lock.Lock()
			defer lock.Unlock()
			out.sent++
			if err != nil {
				out.failed++
				return
			}
			out.latencyMs = append(out.latencyMs, latency.Seconds()*1e3)
		})
	}
	group.Wait()
	slices.Sort(out.latencyMs)
	return out
}

func burnAt(ctx context.Context, client *http.Client, address string, cpu time.Duration) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/?ns=%d", address, cpu.Nanoseconds()), nil)
	if err != nil {
		return err
	}
	response, err := client.Do(q)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %s", response.Status)
	}
	return nil
}

func (a *answered) quantile(q float64) float64 {
	if len(a.latencyMs) == 0 {
		return math.NaN()
	}
	at := q * float64(len(a.latencyMs)-1)
	low := int(at)
	high := min(low+1, len(a.latencyMs)-1)
	return a.latencyMs[low] + (at-float64(low))*(a.latencyMs[high]-a.latencyMs[low])
}

func (a *answered) mean() float64 {
	sum := 0.0
	for _, ms := range a.latencyMs {
		sum += ms
	}
	return sum / float64(len(a.latencyMs))
}
