package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/suggest"
)

// Agent is the students of a group of services at work: those of a node, of a
// namespace, or any others. It is a policy like every other, whoever runs it, and
// what it does with the fleet it does beside deciding: a fleet that is out of
// reach delays nothing. Decide is for one goroutine.
type Agent struct {
	Courier *Courier
	Mirror  *Mirror
	Witness *Witness // of the whole application, if this agent is it; nil = another is, or nobody
	// Hold keeps decisions back until Settle says what came of them, for those who
	// do not do whatever students want.
	Hold bool

	link     *Link
	policy   *drpc.Policy
	services []string // with a student
	places   []int    // of them in the application
	refused  []uint64 // revision that was refused last
	held     []unsettled

	lock   sync.Mutex
	status []StudentStatus
}

// StudentStatus is how a student is doing.
type StudentStatus struct {
	Service   string `json:"service"`
	Version   uint64 `json:"version"` // of the weights in force
	Decisions uint64 `json:"decisions"`
	Refused   string `json:"refused,omitempty"` // why the latest weights are not in force
}

// Kept is how many decisions of each service an agent keeps while nobody takes
// them: at the default pace between half an hour and three hours.
const Kept = 1024

// NewAgent lets the students of a model decide. The epoch tells this process from
// the one before it and must rise: the time will do.
func NewAgent(l *Link, m *drpc.Model, app *loadline.App, work drpc.Work, epoch uint64) (*Agent, error) {
	work.Who = drpc.TheStudents
	policy, err := drpc.NewPolicy(m, app, work)
	if err != nil {
		return nil, err
	}
	a := &Agent{link: l, policy: policy}
	box := make([]int, len(app.Services))
	for i := range app.Services {
		if policy.Student(i) == nil {
			continue
		}
		box[i] = len(a.services)
		a.services, a.places = append(a.services, app.Services[i].Name), append(a.places, i)
		a.status = append(a.status, StudentStatus{Service: app.Services[i].Name, Version: policy.Student(i).Version()})
	}
	a.refused, a.held = make([]uint64, len(a.services)), make([]unsettled, len(a.services))
	a.Courier, a.Mirror = l.NewCourier(a.services, epoch, Kept), l.NewMirror(a.services)
	policy.Decided = func(service int, now time.Time, local *drpc.Local, done drpc.Action) {
		if a.Hold {
			a.held[box[service]] = unsettled{now, *local, done, true}
			return
		}
		a.carry(box[service], now, local, done)
	}
	return a, nil
}

// Run carries experience up and watches for weights until the context is done.
func (a *Agent) Run(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { a.Courier.Run(ctx) })
	both.Go(func() { a.Mirror.Run(ctx) })
	if a.Witness != nil {
		both.Go(func() { a.Witness.Run(ctx) })
	}
	both.Wait()
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

// Decide implements loadline.Policy: with the weights that have come meanwhile.
func (a *Agent) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	a.adopt()
	if a.Witness != nil {
		a.Witness.Saw(now, s)
	}
	return a.policy.Decide(now, s)
}

// adopt takes new weights into force, and refuses those that do not fit.
func (a *Agent) adopt() {
	for i, service := range a.services {
		shown := a.Mirror.Shown(service)
		if shown.Revision == 0 || shown.Revision == a.refused[i] {
			continue
		}
		student := a.policy.Student(a.places[i])
		err := shown.Fault
		if err == nil {
			if shown.Weights.Version == student.Version() {
				continue
			}
			err = student.Adopt(shown.Weights)
		}
		a.lock.Lock()
		a.status[i].Version, a.status[i].Refused = student.Version(), ""
		if err != nil {
			a.refused[i], a.status[i].Refused = shown.Revision, err.Error()
		}
		a.lock.Unlock()
		log := a.link.config.log().With("service", service, "version", student.Version())
		switch {
		case errors.Is(err, drpc.ErrOutdate):
			log.Info("weights are no newer than those in force", "error", err)
		case err != nil:
			log.Warn("weights are refused: the student acts on with those it has", "error", err)
		default:
			log.Info("new weights are in force")
		}
	}
}

// Status of the students, in the order of the application.
func (a *Agent) Status() []StudentStatus {
	a.lock.Lock()
	defer a.lock.Unlock()
	return slices.Clone(a.status)
}

// Group is the part of a model that is for some services; none = all.
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
			faults = append(faults, fmt.Errorf("the model has no student for service %q%s; it has %s", s, suggest.Hint(s, m.Services), strings.Join(m.Services, ", ")))
			continue
		case slices.Contains(services[:i], s):
			faults = append(faults, fmt.Errorf("service %q is named twice", s))
			continue
		}
		part.Services, part.Students, part.Forecasts = append(part.Services, s), append(part.Students, m.Students[at]), append(part.Forecasts, m.Forecasts[at])
	}
	return &part, errors.Join(faults...)
}
