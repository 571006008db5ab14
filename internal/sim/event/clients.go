package event

import (
	"math/rand/v2"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// Envoy's back-off: the n-th retry waits up to 2^n - 1 times the base interval, 10 times at most.
const maxBackoff = 10

// budget limits the retries of one caller by a token bucket: each first attempt adds a share of
// a token, each retry takes a whole one.
type budget struct {
	share  float64 // 0 = no limit
	tokens float64
}

// maxTokens is what a bucket holds, and what it starts with: a caller with few calls may still
// retry.
const maxTokens = 10

func newBudget(share float64) budget { return budget{share: share, tokens: maxTokens} }

func (b *budget) add() { b.tokens = min(b.tokens+b.share, maxTokens) }

func (b *budget) take() bool {
	if b.share == 0 {
		return true
	}
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// budgetOf is the budget of an attempt's caller.
func (e *Engine) budgetOf(parent, call int32) *budget {
	if parent == none {
		return &e.kindBudgets[e.calls[call].kind]
	}
	return &e.services[e.calls[e.visits[parent].call].service].budget
}

// retry sends a failed attempt again after a back-off, unless its caller is gone, has no attempts
// left or has used its budget up.
func (e *Engine) retry(a attempt) bool {
	c := &e.calls[a.call]
	if a.tried >= c.retries || a.parent != none && e.visits[a.parent].state == dead {
		return false
	}
	if !e.budgetOf(a.parent, a.call).take() {
		return false
	}
	if a.parent == none {
		e.meter.Retried(int(c.kind))
	} else {
		e.meter.Services[c.service].Retried++
	}
	i := e.newVisit(a.call, a.parent, a.times)
	v := &e.visits[i]
	v.user, v.tried, v.state = a.user, a.tried+1, backingOff
	most := min(float64(uint64(1)<<min(v.tried, 8)-1), maxBackoff)
	e.queue.push(e.now+int64(e.jitter[c.service].Float64()*most*c.backoff), backoffOver, i)
	return true
}

// backoffDone sends the next attempt.
func (e *Engine) backoffDone(i int32) {
	v := &e.visits[i]
	if parent := v.parent; parent != none && e.visits[parent].state == dead {
		e.release(i)
		e.endPending(parent)
		return
	}
	v.arrived, v.state = e.now, free
	e.start(i)
}

// users of a kind send several requests, each after the reply to the last one.
type users struct {
	requests float64
	think    sim.Sampler
	patience int64
	leave    float64
	rng      *rand.Rand
}

// user is a user with several requests, or the sender of a request that may be retried.
type user struct {
	asked int64 // when the present request was first sent
	kind  int32
	left  int32 // requests to come after the present one
	next  int32 // in the chain of free places
}

func newUsers(u loadline.Users, seed, kind uint64) *users {
	if u.Requests == 0 {
		return nil
	}
	return &users{
		requests: float64(u.Requests), think: sim.NewSampler(u.Think), patience: int64(u.Patience), leave: u.Leave,
		rng: sim.Stream(seed, sim.StreamClients, kind+1),
	}
}

func (e *Engine) newUser(kind int32) int32 {
	i := e.freeUser
	if i == none {
		e.users = append(e.users, user{})
		i = int32(len(e.users) - 1)
	} else {
		e.freeUser = e.users[i].next
	}
	e.users[i] = user{kind: kind, next: none}
	if u := e.sources[kind].users; u != nil {
		e.users[i].left = int32(u.requests) - 1
	}
	return i
}

// served ends a user's request for the user, who thinks about the next one, leaves, or is done.
// The requests that a user who leaves would have sent are lost demand.
func (e *Engine) served(kind, i int32, ok bool) {
	p := &e.users[i]
	if p.left > 0 {
		u := e.sources[kind].users
		if (!ok || e.now-p.asked > u.patience) && u.rng.Float64() < u.leave {
			e.meter.Left(int(kind), e.time(), float64(p.left))
		} else {
			p.left--
			e.queue.push(e.now+int64(u.think.Draw(u.rng, 1)), thinkOver, i)
			return
		}
	}
	p.next = e.freeUser
	e.freeUser = i
}

// beginSessions starts a run with the users who would be thinking at that instant, had the load
// of its first instant lasted forever and replies taken no time. Otherwise the first minutes of a
// run would have too little load. Thinking times begin as a Poisson process; those that are not
// over yet are the users, whose numbers of requests left are uniformly distributed.
func (e *Engine) beginSessions(kind int32) {
	u := e.sources[kind].users
	rate, _ := e.cfg.Load.Rate(int(kind), 0)
	if rate *= 1 - 1/u.requests; rate <= 0 {
		return
	}
	const window = 10 // mean thinking times; longer ones are negligible
	for ago := u.rng.ExpFloat64() * 1e9 / rate; ago < window*u.think.Mean(); ago += u.rng.ExpFloat64() * 1e9 / rate {
		if left := u.think.Draw(u.rng, 1) - ago; left > 0 {
			i := e.newUser(kind)
			e.users[i].left = u.rng.Int32N(int32(u.requests) - 1)
			e.queue.push(int64(left), thinkOver, i)
		}
	}
}
