package fleet

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/suggest"
)

// Agent runs the students of a group of services, such as those of a node or a namespace. It is
// a policy. Deciding uses memory only: experience is published and weights are received in the
// background, so unreachable servers delay no decision. Decide is for one goroutine.
type Agent struct {
	Publisher   *Publisher
	Weights     *WeightCache
	AppObserver *AppObserver // nil = another agent of the fleet has it, or none has
	// Hold keeps decisions until Settle reports what was applied. Decide then leaves
	// the AppObserver to its caller too.
	Hold bool

	link     *Link
	epoch    uint64
	policy   *drpc.Policy
	services []string // with a student
	places   []int    // indices of services in the application
	refused  []uint64 // last rejected revision
	pending  []pendingDecision
	stop     context.CancelFunc
	running  sync.WaitGroup

	lock   sync.Mutex
	status []StudentStatus
	panics map[string]error // of work in the background that rests, by what it is
}

// StudentStatus is the state of a student.
type StudentStatus struct {
	Service   string `json:"service"`
	Version   uint64 `json:"version"` // of the weights in use
	Decisions uint64 `json:"decisions"`
	Refused   string `json:"refused,omitempty"` // why the latest weights are not in use
}

// MaxUnacknowledged is how many decisions of each service an agent queues while no
// server acknowledges them: between half an hour and three hours at the default pace.
const MaxUnacknowledged = 1024

// NewAgent makes an agent of the students of a model. The epoch identifies this process
// and must be higher than that of the process before it, such as the time.
func NewAgent(l *Link, m *drpc.Model, app *loadline.App, work drpc.Work, epoch uint64) (*Agent, error) {
	work.Decider = drpc.ByStudents
	policy, err := drpc.NewPolicy(m, app, work)
	if err != nil {
		return nil, err
	}
	a := &Agent{link: l, epoch: epoch, policy: policy, stop: func() {}}
	student := make([]int, len(app.Services))
	for i := range app.Services {
		if policy.Student(i) == nil {
			continue
		}
		student[i] = len(a.services)
		a.services, a.places = append(a.services, app.Services[i].Name), append(a.places, i)
		a.status = append(a.status, StudentStatus{Service: app.Services[i].Name, Version: policy.Student(i).Version()})
	}
	a.refused, a.pending = make([]uint64, len(a.services)), make([]pendingDecision, len(a.services))
	a.Publisher, a.Weights = l.NewPublisher(a.services, epoch, MaxUnacknowledged), l.NewWeightCache(a.services)
	policy.Decided = func(service int, now time.Time, local *drpc.Local, done drpc.Action) {
		if a.Hold {
			a.pending[student[service]] = pendingDecision{now, *local, done, true}
			return
		}
		a.publish(student[service], now, local, done)
	}
	return a, nil
}

// Start publishes experience and receives weights in the background until Close.
func (a *Agent) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	a.stop = cancel
	a.background(ctx, "publish experience", a.Publisher.Run)
	a.background(ctx, "receive weights", a.Weights.Run)
}

// restartAfter is how long work in the background rests after a panic.
const restartAfter = 5 * time.Second

// background runs until the context is done. A panic must not end the process, which
// runs other applications too: it is an error of the agent, and the work is begun again.
func (a *Agent) background(ctx context.Context, what string, run func(context.Context)) {
	once := func() {
		defer func() {
			if p := recover(); p != nil {
				a.setPanic(what, fmt.Errorf("%s: panic: %v", what, p))
				a.link.config.log().Error("work of an agent panicked", "work", what, "panic", p, "restartIn", restartAfter, "stack",
					string(debug.Stack()))
			}
		}()
		run(ctx)
	}
	a.running.Go(func() {
		for once(); ctx.Err() == nil; once() {
			if !sleep(ctx, restartAfter, nil) {
				return
			}
			a.setPanic(what, nil)
		}
	})
}

// setPanic records that work has panicked, or was begun again.
func (a *Agent) setPanic(what string, err error) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.panics == nil {
		a.panics = map[string]error{}
	}
	a.panics[what] = err
}

// Close waits until everything is acknowledged or the context is done, and ends the
// work in the background. The error names what was not acknowledged.
func (a *Agent) Close(ctx context.Context) error {
	err := a.Publisher.Flush(ctx)
	a.stop()
	a.running.Wait()
	return err
}

// Err is why experience is not published or weights are not received at the moment.
func (a *Agent) Err() error {
	if err := a.link.Err(); err != nil {
		return err
	}
	if err := a.panicked(); err != nil {
		return err
	}
	if err := a.Publisher.Err(); err != nil {
		return err
	}
	return a.Weights.Err()
}

func (a *Agent) panicked() error {
	a.lock.Lock()
	defer a.lock.Unlock()
	for _, err := range a.panics {
		if err != nil {
			return err
		}
	}
	return nil
}

// Name implements loadline.Policy.
func (a *Agent) Name() string { return a.policy.Name() }

// Needs implements loadline.Policy.
func (a *Agent) Needs() loadline.Needs { return a.policy.Needs() }

// Forecast implements loop.Forecaster.
func (a *Agent) Forecast(now time.Time, window []loadline.Observation) []loadline.Forecast {
	return a.policy.Forecast(now, window)
}

// Split implements loop.Splitter.
func (a *Agent) Split(now time.Time, s loadline.Situation) []loadline.SLO {
	return a.policy.Split(now, s)
}

// Decide implements loadline.Policy. It uses the weights that were received last.
func (a *Agent) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	a.adopt()
	if a.AppObserver != nil && !a.Hold {
		a.AppObserver.Observe(now, s)
	}
	return a.policy.Decide(now, s)
}

// adopt uses new weights, or rejects them if they do not fit.
func (a *Agent) adopt() {
	for i, service := range a.services {
		cached := a.Weights.Latest(service)
		if cached.Revision == 0 || cached.Revision == a.refused[i] {
			continue
		}
		student := a.policy.Student(a.places[i])
		err := cached.Fault
		if err == nil {
			if cached.Weights.Version == student.Version() {
				continue
			}
			if err = checkVersion(cached.Weights, student.Version()); err == nil {
				err = student.Adopt(cached.Weights)
			}
		}
		a.lock.Lock()
		a.status[i].Version, a.status[i].Refused = student.Version(), ""
		if err != nil {
			a.refused[i], a.status[i].Refused = cached.Revision, err.Error()
		}
		a.lock.Unlock()
		log := a.link.config.log().With("service", service, "version", student.Version())
		switch {
		case errors.Is(err, drpc.ErrOutdate):
			log.Info("weights ignored: not newer than those in use", "error", err)
		case err != nil:
			log.Warn("weights refused: the student keeps those in use", "error", err)
		default:
			log.Info("new weights in use")
		}
	}
}

// Status of the students, in the order of the application.
func (a *Agent) Status() []StudentStatus {
	a.lock.Lock()
	defer a.lock.Unlock()
	return slices.Clone(a.status)
}

// Group is the part of a model for some services; none = all.
func Group(m *drpc.Model, services []string) (*drpc.Model, error) {
	if len(services) == 0 {
		return m, nil
	}
	part := *m
	part.Services, part.Students, part.Forecasts = nil, nil, nil
	var faults []error
	for i, s := range services {
		at := slices.Index(m.Services, s)
		switch {
		case at < 0:
			faults = append(faults, fmt.Errorf("the model has no student for service %q%s; it has %s",
				s, suggest.Hint(s, m.Services), strings.Join(m.Services, ", ")))
			continue
		case slices.Contains(services[:i], s):
			faults = append(faults, fmt.Errorf("service %q is named twice", s))
			continue
		}
		part.Services, part.Students = append(part.Services, s), append(part.Students, m.Students[at])
		part.Forecasts = append(part.Forecasts, m.Forecasts[at])
	}
	return &part, errors.Join(faults...)
}
