package bench

import (
	"fmt"
	"math"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
)

// moves are the changes of schedules that the oracle's search tries.
type moves struct {
	app      *loadline.App
	duration time.Duration
	node     float64 // cores of the smallest node; 0 = there are no nodes
	list     []move
}

// move changes the schedule of one service, or of all.
type move struct {
	name    string
	service int // -1 = all
	steps   func(s *loadline.Service, steps []policy.ScheduleStep) []policy.ScheduleStep
}

// after is a candidate with a change; its schedule is nil if the change changes nothing.
func (c candidate) after(m move, in *moves) candidate {
	changed := &policy.Schedule{
		Steps: make([][]policy.ScheduleStep, len(c.schedule.Steps)), Reserve: c.schedule.Reserve, RecreateAfter: c.schedule.RecreateAfter,
	}
	differs := false
	for i, steps := range c.schedule.Steps {
		changed.Steps[i] = steps
		if m.service >= 0 && m.service != i {
			continue
		}
		service := &in.app.Services[i]
		changed.Steps[i] = tidy(service, m.steps(service, steps))
		differs = differs || !sameSteps(steps, changed.Steps[i])
	}
	if !differs {
		return candidate{}
	}
	where := "all"
	if m.service >= 0 {
		where = in.app.Services[m.service].Name
	}
	origin := c.origin
	if len(origin) < 400 {
		origin += "; " + where + " " + m.name
	}
	return candidate{origin: origin, schedule: changed}
}

func sameSteps(a, b []policy.ScheduleStep) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// tidy brings every step within the bounds and drops those that change nothing.
func tidy(s *loadline.Service, steps []policy.ScheduleStep) []policy.ScheduleStep {
	out := steps[:0:0]
	for _, step := range steps {
		step.Replicas, _ = withinBounds(s.Bounds, step.Replicas)
		size := &step.Size
		size.CPURequest = max(size.CPURequest, s.Bounds.MinCPU)
		if most := s.Bounds.MaxCPU; most > 0 {
			size.CPURequest = min(size.CPURequest, most)
			size.CPULimit = min(size.CPULimit, most)
		}
		if size.CPULimit > 0 {
			size.CPULimit = max(size.CPULimit, size.CPURequest)
		}
		if n := len(out); n == 0 || out[n-1].Allocation != step.Allocation {
			out = append(out, step)
		}
	}
	return out
}

func withinBounds(b loadline.Bounds, n int) (int, bool) {
	in := max(n, b.MinReplicas, 0)
	if b.MaxReplicas > 0 {
		in = min(in, b.MaxReplicas)
	}
	return in, in == n
}

// each changes every step alike.
func each(change func(s *loadline.Service, a *loadline.Allocation)) func(*loadline.Service, []policy.ScheduleStep) []policy.ScheduleStep {
	return func(s *loadline.Service, steps []policy.ScheduleStep) []policy.ScheduleStep {
		out := append(steps[:0:0], steps...)
		for i := range out {
			change(s, &out[i].Allocation)
		}
		return out
	}
}

// all moves, bold ones first, each for all services and for every single one.
func (m *moves) all() []move {
	if m.list != nil {
		return m.list
	}
	general := m.general()
	for _, g := range general {
		m.list = append(m.list, move{g.name, -1, g.steps})
	}
	for _, g := range general {
		for i := range m.app.Services {
			if len(m.app.Services) > 1 {
				m.list = append(m.list, move{g.name, i, g.steps})
			}
		}
	}
	fine := min(max(48/len(m.app.Services), 3), 12)
	for _, by := range []int{-1, 1} {
		for i := range m.app.Services {
			m.inSegments(3, i, by)
			if fine > 3 {
				m.inSegments(fine, i, by)
			}
		}
	}
	return m.list
}

// inSegments adds the changes of a service's replicas in each of so many parts of the run.
func (m *moves) inSegments(segments, service, by int) {
	for n := range segments {
		from, to := m.duration*time.Duration(n)/time.Duration(segments), m.duration*time.Duration(n+1)/time.Duration(segments)
		from, to = from.Truncate(searchGrid), to.Truncate(searchGrid)
		m.list = append(m.list, move{fmt.Sprintf("%+d replicas from %v to %v", by, from, to), service, within(from, to, by)})
	}
}

// general moves: fewer replicas, other sizes, other times; then more of everything, for schedules
// that do not meet the SLO.
func (m *moves) general() []move {
	all := []move{
		{"replicas x0.75", 0, each(func(_ *loadline.Service, a *loadline.Allocation) { a.Replicas = fewer(a.Replicas, 0.75) })},
		{"replicas x0.9", 0, each(func(_ *loadline.Service, a *loadline.Allocation) { a.Replicas = fewer(a.Replicas, 0.9) })},
		{"one replica fewer", 0, each(func(_ *loadline.Service, a *loadline.Allocation) { a.Replicas-- })},
		{"limit lifted", 0, each(func(s *loadline.Service, a *loadline.Allocation) {
			a.Size.CPULimit = max(s.Bounds.MaxCPU, a.Size.CPULimit)
		})},
		{"half the replicas of twice the size", 0, each(func(_ *loadline.Service, a *loadline.Allocation) {
			a.Replicas = (a.Replicas + 1) / 2
			a.Size.CPURequest, a.Size.CPULimit = 2*a.Size.CPURequest, 2*a.Size.CPULimit
		})},
		{"peak lower by one", 0, capped},
		{"without peaks of 1 minute", 0, m.opened(time.Minute)},
		{"without peaks of 5 minutes", 0, m.opened(5 * time.Minute)},
		{"held over dips of 5 minutes", 0, m.closed(5 * time.Minute)},
		{"constant", 0, m.closed(m.duration)},
		{"30 s later", 0, shifted(30 * time.Second)},
		{"30 s earlier", 0, shifted(-30 * time.Second)},
		{"1 minute earlier", 0, shifted(-time.Minute)},
		{"limit x0.8", 0, each(func(_ *loadline.Service, a *loadline.Allocation) { a.Size.CPULimit *= 0.8 })},
		{"memory request x0.8", 0, each(func(s *loadline.Service, a *loadline.Allocation) {
			lower := max(int64(0.8*float64(a.Size.MemoryRequest)), s.Memory.Base+s.Memory.Base/10, s.Bounds.MinMemory)
			a.Size.MemoryRequest = min(a.Size.MemoryRequest, lower)
		})},
		{"replicas x1.25", 0, each(func(_ *loadline.Service, a *loadline.Allocation) {
			a.Replicas = int(math.Ceil(1.25 * float64(a.Replicas)))
		})},
		{"one replica more", 0, each(func(_ *loadline.Service, a *loadline.Allocation) { a.Replicas++ })},
	}
	for _, factor := range []float64{0.5, 0.8, 0.95, 1.25, 2} {
		all = append(all, move{fmt.Sprintf("request x%v", factor), 0, each(func(_ *loadline.Service, a *loadline.Allocation) {
			a.Size.CPURequest *= factor
		})})
	}
	if m.node > 0 {
		// One replica less of a service may leave a node in use; a node's worth of requests frees it.
		all = append(all, move{"a node's worth of requests fewer", 0, m.nodeFewer})
	}
	return all
}

func fewer(n int, by float64) int {
	if n <= 1 {
		return n
	}
	return int(math.Floor(by * float64(n)))
}

// nodeFewer lowers the requests of a service in proportion, by its equal share of a node.
func (m *moves) nodeFewer(_ *loadline.Service, steps []policy.ScheduleStep) []policy.ScheduleStep {
	out := append(steps[:0:0], steps...)
	worth := m.node / float64(len(m.app.Services))
	for i := range out {
		if n := float64(out[i].Replicas); n > 0 {
			out[i].Size.CPURequest = max(out[i].Size.CPURequest-worth/n, out[i].Size.CPURequest/4)
		}
	}
	return out
}

// capped lowers the most replicas by one.
func capped(_ *loadline.Service, steps []policy.ScheduleStep) []policy.ScheduleStep {
	most := 0
	for _, s := range steps {
		most = max(most, s.Replicas)
	}
	out := append(steps[:0:0], steps...)
	for i := range out {
		out[i].Replicas = min(out[i].Replicas, max(most-1, 0))
	}
	return out
}

// shifted in time: what comes before the start is lost.
func shifted(by time.Duration) func(*loadline.Service, []policy.ScheduleStep) []policy.ScheduleStep {
	return func(_ *loadline.Service, steps []policy.ScheduleStep) []policy.ScheduleStep {
		out := steps[:0:0]
		for i, s := range steps {
			if i > 0 {
				s.At = max(s.At+by, 0)
			}
			if n := len(out); n > 0 && out[n-1].At >= s.At {
				out[n-1] = policy.ScheduleStep{At: out[n-1].At, Allocation: s.Allocation}
				continue
			}
			out = append(out, s)
		}
		return out
	}
}

// within changes the replicas of a stretch of time.
func within(from, to time.Duration, by int) func(*loadline.Service, []policy.ScheduleStep) []policy.ScheduleStep {
	return func(_ *loadline.Service, steps []policy.ScheduleStep) []policy.ScheduleStep {
		out := splitAt(splitAt(steps, from), to)
		for i := range out {
			if out[i].At >= from && out[i].At < to {
				out[i].Replicas += by
			}
		}
		return out
	}
}

// splitAt is a copy with a step at an instant.
func splitAt(steps []policy.ScheduleStep, at time.Duration) []policy.ScheduleStep {
	out := steps[:0:0]
	done := false
	for i, s := range steps {
		if !done && s.At >= at {
			done = true
			if s.At > at && i > 0 {
				out = append(out, policy.ScheduleStep{At: at, Allocation: steps[i-1].Allocation})
			}
		}
		out = append(out, s)
	}
	if !done {
		out = append(out, policy.ScheduleStep{At: at, Allocation: steps[len(steps)-1].Allocation})
	}
	return out
}

// opened has no rise of the replicas that lasts at most so long.
func (m *moves) opened(length time.Duration) func(*loadline.Service, []policy.ScheduleStep) []policy.ScheduleStep {
	return func(_ *loadline.Service, steps []policy.ScheduleStep) []policy.ScheduleStep {
		return m.level(steps, length, func(n, before, after int) int { return min(n, max(before, after)) })
	}
}

// closed has no dip of the replicas that lasts at most so long.
func (m *moves) closed(length time.Duration) func(*loadline.Service, []policy.ScheduleStep) []policy.ScheduleStep {
	return func(_ *loadline.Service, steps []policy.ScheduleStep) []policy.ScheduleStep {
		if length < m.duration {
			return m.level(steps, length, func(n, before, after int) int { return max(n, min(before, after)) })
		}
		most := 0
		for _, s := range steps {
			most = max(most, s.Replicas)
		}
		return each(func(_ *loadline.Service, a *loadline.Allocation) { a.Replicas = most })(nil, steps)
	}
}

// level changes the replicas of runs of equal replicas that last at most so long, by those before
// and after.
func (m *moves) level(steps []policy.ScheduleStep, length time.Duration, to func(n, before, after int) int) []policy.ScheduleStep {
	out := append(steps[:0:0], steps...)
	for i := 0; i < len(out); {
		end := i + 1
		for end < len(out) && out[end].Replicas == out[i].Replicas {
			end++
		}
		if i > 0 && end < len(out) && out[end].At-out[i].At <= length {
			n := to(out[i].Replicas, out[i-1].Replicas, out[end].Replicas)
			for k := i; k < end; k++ {
				out[k].Replicas = n
			}
		}
		i = end
	}
	return out
}
