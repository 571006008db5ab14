package realapp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadline/loadline"
)

// drawn is what chance decides about a visit.
type drawn struct {
	version   int
	cpu, wait time.Duration
	made      [][]bool // by stage and call
}

func (s *Server) draw(call *loadline.Call) drawn {
	s.lock.Lock()
	defer s.lock.Unlock()
	of := &s.app.Services[s.service]
	d := drawn{}
	cpu, waiting := call.Work, call.Work
	if len(of.Versions) > 0 {
		d.version = s.drawVersion(of.Versions)
		cpu *= of.Versions[d.version].CPU
		waiting *= of.Versions[d.version].Wait
	}
	d.cpu, d.wait = s.cpu.DrawTime(s.rng, cpu), s.wait.DrawTime(s.rng, waiting)
	for _, stage := range call.Stages {
		made := make([]bool, len(stage))
		for i := range stage {
			c := &stage[i]
			made[i] = (len(c.Versions) == 0 || slices.Contains(c.Versions, d.version)) && s.rng.Float64() < c.Probability
		}
		d.made = append(d.made, made)
	}
	return d
}

func (s *Server) drawVersion(versions []loadline.Version) int {
	all := 0.0
	for i := range versions {
		all += versions[i].Weight
	}
	at := s.rng.Float64() * all
	for i := range versions {
		if at -= versions[i].Weight; at < 0 {
			return i
		}
	}
	return 0
}

// visit does the work of a call and makes its calls; the result is a status of HTTP.
func (s *Server) visit(ctx context.Context, path string, call *loadline.Call) int {
	of := &s.app.Services[s.service]
	atWork, admitted := s.gate.enter()
	if !admitted {
		return http.StatusServiceUnavailable
	}
	defer s.gate.leave()
	d := s.draw(call)
	memory, err := work(time.Duration(float64(d.cpu)*(1+of.Contention*float64(atWork-1))), of.Memory.PerRequest)
	if err != nil {
		return http.StatusInternalServerError
	}
	defer memory.free()
	if d.wait > 0 {
		wait(d.wait)
	}
	for stage, calls := range call.Stages {
		var group sync.WaitGroup
		var failed atomic.Bool
		for i := range calls {
			if !d.made[stage][i] {
				continue
			}
			group.Go(func() {
				if !s.makeCall(ctx, fmt.Sprintf("%s/%d.%d", path, stage, i), &calls[i]) && !calls[i].Optional {
					failed.Store(true)
				}
			})
		}
		group.Wait()
		if failed.Load() {
			return http.StatusInternalServerError
		}
	}
	return http.StatusOK
}

// makeCall makes a call with its repetitions and retries. It reports whether all of them succeeded.
func (s *Server) makeCall(ctx context.Context, path string, call *loadline.Call) bool {
	name := s.app.Services[call.Service].Name
	url := "http://" + s.callee(name) + path
	for range max(call.Times, 1) {
		ok := false
		if call.Retries.Attempts > 0 {
			s.budget.called(s.app.Services[s.service].RetryBudget)
		}
		for attempt := 0; attempt <= call.Retries.Attempts; attempt++ {
			if attempt > 0 {
				if !s.budget.take(s.app.Services[s.service].RetryBudget) {
					break
				}
				time.Sleep(s.backoff(call.Retries.Backoff, attempt))
			}
			began := time.Now()
			if ok = get(ctx, s.client, url, call.Timeout) == nil; ok {
				s.shown.called(call.Service, true, time.Since(began))
				break
			}
			s.shown.called(call.Service, false, time.Since(began))
		}
		if !ok {
			return false
		}
	}
	return true
}

// backoff before the n-th retry: uniformly up to 2^n - 1 times the base, 10 times at most.
func (s *Server) backoff(base time.Duration, n int) time.Duration {
	s.lock.Lock()
	defer s.lock.Unlock()
	return time.Duration(s.rng.Float64() * float64(base) * min(float64(int(1)<<min(n, 10)-1), 10))
}

// get asks for a URL and reads the whole answer.
func get(ctx context.Context, client *http.Client, url string, timeout time.Duration) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, answer.Status)
	}
	return nil
}

// retryBudget limits retries to a share of the calls that have them.
type retryBudget struct {
	lock   sync.Mutex
	tokens float64
}

// budgetDepth is what a bucket holds, and what it starts with, as in the event engine.
const budgetDepth = 10

func (b *retryBudget) called(share float64) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.tokens = min(b.tokens+share, budgetDepth)
}

// take one retry; a share of 0 has no limit.
func (b *retryBudget) take(share float64) bool {
	if share == 0 {
		return true
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
