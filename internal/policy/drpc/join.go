package drpc

import (
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// Join combines snapshots and students' experience into a teacher's transitions: the whole
// application at an instant, the students' actions until the next, and the whole application
// then. Both arrive over one stream, but from many processes, so that they are ordered by their
// clocks and not by arrival. Nothing is guessed: a period in which some student sent nothing is
// skipped, since its action is unknown.
type Join struct {
	Late       uint64 // decisions that arrived after their period, or that no snapshots cover
	Incomplete uint64 // periods skipped because not all actions are known
	Broken     uint64 // periods without a snapshot at their end, or without its score
	Silent     string // service whose actions were missing last

	period    time.Duration
	services  []string
	index     map[string]int
	snapshots []Snapshot // whose period is not over, oldest first
	decisions []decision // since the first of them
	gaps      []gap
	progress  []progress
	messages  uint64 // received
}

// decision is what a student did.
type decision struct {
	service int
	at      time.Time
	action  Action
}

// gap is a time in which a student's actions are or may be missing.
type gap struct {
	service  int
	from, to time.Time
}

// progress is the last message of a student.
type progress struct {
	epoch, sequence uint64
	at              time.Time
	message         uint64 // its number among all messages
}

// Bounds of the queues: as much as agents keep while no server is reachable, since all of it
// may arrive at once, snapshots before the actions.
const (
	maxSnapshots = 1024
	maxDecisions = 1024 // of each service
)

// patience is how many messages of each service may arrive while one student sends nothing.
const patience = 16

// NewJoin makes a join for an application and its teacher's period.
func NewJoin(app *loadline.App, period time.Duration) *Join {
	j := &Join{period: period, index: map[string]int{}, progress: make([]progress, len(app.Services))}
	for i := range app.Services {
		j.services = append(j.services, app.Services[i].Name)
		j.index[app.Services[i].Name] = i
	}
	return j
}

// AddExperience adds a decision that is counted for the first time.
func (j *Join) AddExperience(e *Experience) {
	i, ours := j.index[e.Service]
	if !ours {
		return
	}
	j.messages++
	last := j.progress[i]
	j.progress[i] = progress{e.Epoch, e.Sequence, e.At, j.messages}
	switch again := e.Epoch == last.epoch; {
	case last.message == 0 || again && e.Sequence == last.sequence+1:
	case e.At.After(last.at): // some were dropped, or lost with their process
		j.gaps = append(j.gaps, gap{i, last.at, e.At})
	default: // another process with another clock: nothing more comes from the one before
		j.decisions = slices.DeleteFunc(j.decisions, func(d decision) bool { return d.service == i })
	}
	if len(j.snapshots) > 0 && e.At.Before(j.snapshots[0].At) {
		j.Late++
		return
	}
	j.decisions = append(j.decisions, decision{i, e.At, e.Action})
	if over := len(j.decisions) - maxDecisions*len(j.progress); over > 0 {
		j.decisions = append(j.decisions[:0], j.decisions[over:]...)
		j.Late += uint64(over)
	}
}

// AddSnapshot adds a snapshot that is counted for the first time.
func (j *Join) AddSnapshot(s Snapshot) {
	j.messages++
	j.snapshots = append(j.snapshots, s)
	if len(j.snapshots) > maxSnapshots {
		j.Incomplete++
		j.drop()
	}
}

// Next is the next complete period: the snapshots at its ends, and the actions between them.
// False if there is none.
func (j *Join) Next(actions []float32) (from, to Snapshot, ok bool) {
	for len(j.snapshots) > 1 {
		from, to = j.snapshots[0], j.snapshots[1]
		if !j.follows(&from, &to) {
			j.Broken++
			j.drop()
			continue
		}
		silent, waiting := j.silent(from.At, to.At)
		if waiting {
			return from, to, false
		}
		if silent >= 0 {
			j.Incomplete++
			j.Silent = j.services[silent]
			j.drop()
			continue
		}
		j.take(from.At, to.At, actions)
		j.snapshots = slices.Delete(j.snapshots, 0, 1)
		j.forget(to.At)
		return from, to, true
	}
	return from, to, false
}

// silent is a service whose actions in a period are unknown; -1 = none. waiting means that they
// may still arrive.
func (j *Join) silent(from, to time.Time) (service int, waiting bool) {
	if g := slices.IndexFunc(j.gaps, func(g gap) bool { return g.from.Before(to) && g.to.After(from) }); g >= 0 {
		return j.gaps[g].service, false
	}
	for i, h := range j.progress {
		if h.message > 0 && !h.at.Before(to) {
			continue
		}
		if j.messages-h.message > uint64(patience*len(j.progress)) {
			return i, false
		}
		service, waiting = i, true
	}
	if waiting {
		return service, true
	}
	return -1, false
}

// follows reports whether two snapshots are consecutive, a period apart.
func (j *Join) follows(from, to *Snapshot) bool {
	apart := to.At.Sub(from.At)
	return to.Scored && to.Epoch == from.Epoch && to.Sequence == from.Sequence+1 && apart > j.period/2 && apart <= j.period*3/2
}

// take sums up the actions of each student in a period.
func (j *Join) take(from, to time.Time, actions []float32) {
	clear(actions)
	j.decisions = slices.DeleteFunc(j.decisions, func(d decision) bool {
		if !d.at.Before(to) {
			return false
		}
		if d.at.Before(from) {
			j.Late++
			return true
		}
		for axis, x := range d.action {
			at := &actions[d.service*Axes+axis]
			*at = min(max(*at+x, -1), 1)
		}
		return true
	})
}

// drop skips the first snapshot, and the actions until the next.
func (j *Join) drop() {
	j.snapshots = slices.Delete(j.snapshots, 0, 1)
	begin := j.snapshots[0].At
	j.decisions = slices.DeleteFunc(j.decisions, func(d decision) bool { return d.at.Before(begin) })
	j.forget(begin)
}

// forget drops gaps that are over.
func (j *Join) forget(begin time.Time) {
	j.gaps = slices.DeleteFunc(j.gaps, func(g gap) bool { return !g.to.After(begin) })
}
