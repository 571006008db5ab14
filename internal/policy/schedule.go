package policy

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/loadline/loadline"
)

// Schedule is what every service is given over a run, constant between its steps: a recording
// of what some policy applied, or a plan that was searched.
type Schedule struct {
	Steps [][]ScheduleStep `json:"steps"` // by service, in the order of time, the first at 0
	// Reserve and RecreateAfter are those of the policy that was recorded (loadline.Needs).
	Reserve       float64       `json:"reserve,omitempty"`
	RecreateAfter time.Duration `json:"recreate_after_ns,omitempty"`
}

// ScheduleStep is the allocation of one service from an instant since the start of the run.
type ScheduleStep struct {
	At time.Duration
	loadline.Allocation
}

// MarshalJSON writes a short array: seconds, replicas, CPU request and limit in cores, memory
// request and limit in bytes, and true in case of a brownout.
func (s ScheduleStep) MarshalJSON() ([]byte, error) {
	all := []any{s.At.Seconds(), s.Replicas, s.Size.CPURequest, s.Size.CPULimit, s.Size.MemoryRequest, s.Size.MemoryLimit}
	if s.Brownout {
		all = append(all, true)
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *ScheduleStep) UnmarshalJSON(text []byte) error {
	var seconds float64
	*s = ScheduleStep{}
	fields := []any{&seconds, &s.Replicas, &s.Size.CPURequest, &s.Size.CPULimit, &s.Size.MemoryRequest, &s.Size.MemoryLimit, &s.Brownout}
	least := len(fields) - 1
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return fmt.Errorf("step of a schedule: %w", err)
	}
	if len(raw) < least || len(raw) > len(fields) {
		return fmt.Errorf("step of a schedule: %d fields, must be %d or %d", len(raw), least, len(fields))
	}
	for i, field := range raw {
		if err := json.Unmarshal(field, fields[i]); err != nil {
			return fmt.Errorf("step of a schedule, field %d: %w", i+1, err)
		}
	}
	s.At = time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
	return nil
}

// NewSchedule holds what an application starts with.
func NewSchedule(app *loadline.App) *Schedule {
	s := &Schedule{Steps: make([][]ScheduleStep, len(app.Services))}
	for i := range app.Services {
		start := loadline.Allocation{Replicas: app.Services[i].Replicas, Size: app.Services[i].Size}
		s.Steps[i] = []ScheduleStep{{Allocation: start}}
	}
	return s
}

// Set changes a service from an instant on, which is not before its last step.
func (s *Schedule) Set(service int, at time.Duration, to loadline.Allocation) {
	steps := s.Steps[service]
	last := &steps[len(steps)-1]
	switch {
	case last.Allocation == to:
	case last.At >= at:
		last.Allocation = to
	default:
		s.Steps[service] = append(steps, ScheduleStep{at, to})
	}
}

// At is what every service has at an instant.
func (s *Schedule) At(t time.Duration) []loadline.Allocation {
	all := make([]loadline.Allocation, len(s.Steps))
	for i, steps := range s.Steps {
		for _, step := range steps {
			if step.At > t {
				break
			}
			all[i] = step.Allocation
		}
	}
	return all
}

// Len is the number of steps of all services.
func (s *Schedule) Len() int {
	n := 0
	for _, steps := range s.Steps {
		n += len(steps)
	}
	return n
}

// Every is the same schedule with changes at whole multiples of a resolution only: each comes
// at the multiple before it, and of several within one interval the last remains.
func (s *Schedule) Every(resolution time.Duration) *Schedule {
	coarse := &Schedule{Steps: make([][]ScheduleStep, len(s.Steps)), Reserve: s.Reserve, RecreateAfter: s.RecreateAfter}
	for i, steps := range s.Steps {
		coarse.Steps[i] = []ScheduleStep{steps[0]}
		for _, step := range steps[1:] {
			coarse.Set(i, step.At.Truncate(resolution), step.Allocation)
		}
	}
	return coarse
}

// Scheduled is a policy that plays a schedule.
type Scheduled struct {
	schedule *Schedule
	period   time.Duration
	start    time.Time
	next     []int // by service: the first step that has not been proposed
}

// leastSchedulePeriod: steps at other instants than its multiples come up to so much later.
const leastSchedulePeriod = time.Second

// NewScheduled makes the policy. It is for one run.
func NewScheduled(s *Schedule) *Scheduled {
	period := time.Duration(0)
	for _, steps := range s.Steps {
		for _, step := range steps {
			period = commonDivisor(period, step.At)
		}
	}
	if period == 0 {
		period = time.Minute
	}
	return &Scheduled{schedule: s, period: min(max(period, leastSchedulePeriod), time.Minute), next: make([]int, len(s.Steps))}
}

func commonDivisor(a, b time.Duration) time.Duration {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Name of the policy.
func (*Scheduled) Name() string { return oracleMethod.Name }

// Needs no metrics; the figures are those of a usual Prometheus.
func (p *Scheduled) Needs() loadline.Needs {
	return loadline.Needs{
		Period: p.period, Scrape: 15 * time.Second, Window: 15 * time.Second,
		Reserve: p.schedule.Reserve, RecreateAfter: p.schedule.RecreateAfter,
	}
}

// SetFuture gives the policy the start of the run; the schedule is made already.
func (p *Scheduled) SetFuture(start time.Time, _ time.Duration, _ Rate, _ []DemandChange) {
	p.start = start
}

// Decide proposes the steps that have become due.
func (p *Scheduled) Decide(now time.Time, _ loadline.Situation) (loadline.Proposal, error) {
	var proposal loadline.Proposal
	at := now.Sub(p.start)
	for i, steps := range p.schedule.Steps {
		due := p.next[i]
		for due < len(steps) && steps[due].At <= at {
			due++
		}
		if due == p.next[i] {
			continue
		}
		p.next[i] = due
		to := steps[due-1].Allocation
		proposal.Services = append(proposal.Services, loadline.ServiceProposal{
			Service: i, Reason: fmt.Sprintf("the schedule of the run at %v", at),
			Setting: loadline.Setting{
				Replicas: loadline.Some(to.Replicas), Brownout: loadline.Some(to.Brownout),
				CPURequest: loadline.Some(to.Size.CPURequest), CPULimit: loadline.Some(to.Size.CPULimit),
				MemoryRequest: loadline.Some(to.Size.MemoryRequest), MemoryLimit: loadline.Some(to.Size.MemoryLimit),
			},
		})
	}
	return proposal, nil
}

// Schedule is what the oracle plans for a run; SetFuture comes first.
func (p *Oracle) Schedule() *Schedule {
	s := NewSchedule(p.app)
	for i, replicas := range p.schedule {
		b := p.app.Services[i].Bounds
		to := s.Steps[i][0].Allocation
		if p.cpu {
			to.Size.CPURequest, to.Size.CPULimit = b.MinCPU, b.MaxCPU
		}
		for step, n := range replicas {
			to.Replicas = n
			s.Set(i, time.Duration(step)*oracleStep, to)
		}
	}
	return s
}
