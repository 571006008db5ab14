package drpc

import (
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// Join puts snapshots and students' experience together into what a teacher learns
// from: the whole at an instant, what the students did until the next, and the whole
// then. Both come over one stream, but from many processes, so that it goes by their
// clocks and not by the order of arrival. Nothing is made up: a stretch in which
// some student sent nothing is left out, since its action is unknown.
type Join struct {
	Late       uint64 // decisions that came when their stretch was over, or that no snapshots cover
	Incomplete uint64 // stretches that were left out because not all that students did is known
	Broken     uint64 // stretches without a snapshot at their end, or without its score
	Silent     string // service whose student it was, the last time

	period    time.Duration
	services  []string
	index     map[string]int
	snapshots []Snapshot // whose stretch is not over, oldest first
	decisions []decision // since the first of them
	gaps      []gap
	progress  []progress
	messages  uint64 // taken in
}

// decision is what a student did.
type decision struct {
	service int
	at      time.Time
	action  Action
}

// gap is when a student did something that never arrived, or may have.
type gap struct {
	service  int
	from, to time.Time
}

// progress is how far a student was heard.
type progress struct {
	epoch, sequence uint64
	at              time.Time
	message         uint64 // which one it was, of all
}

// Bounds of what waits: as much as agents keep while no server can be reached, since
// all of it may come at once, scenes before what was done in them.
const (
	maxSnapshots = 1024
	maxDecisions = 1024 // of each service
)

// patience is how many messages of each service may come while one student is not
// heard at all.
const patience = 16

// NewJoin is for an application and its teacher's period.
func NewJoin(app *loadline.App, period time.Duration) *Join {
	j := &Join{period: period, index: map[string]int{}, progress: make([]progress, len(app.Services))}
	for i := range app.Services {
		j.services = append(j.services, app.Services[i].Name)
		j.index[app.Services[i].Name] = i
	}
	return j
}

// AddExperience takes a decision that is counted for the first time.
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
	case e.At.After(last.at): // something was let go, or lost with its process
		j.gaps = append(j.gaps, gap{i, last.at, e.At})
	default: // another process with another clock: the one before is heard no more
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

// AddSnapshot takes a scene that is counted for the first time.
func (j *Join) AddSnapshot(s Snapshot) {
	j.messages++
	j.snapshots = append(j.snapshots, s)
	if len(j.snapshots) > maxSnapshots {
		j.Incomplete++
		j.drop()
	}
}

// Next is the next stretch that is complete: the scenes at its ends, and what was
// done between them. Without one it is false.
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

// silent is the service of which it is not known what was done in a stretch; -1 =
// there is none. While it may yet be heard, that waits.
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

// follows says whether a stretch is from one scene to the very next, a period later.
func (j *Join) follows(from, to *Snapshot) bool {
	apart := to.At.Sub(from.At)
	return to.Scored && to.Epoch == from.Epoch && to.Sequence == from.Sequence+1 && apart > j.period/2 && apart <= j.period*3/2
}

// take sums up what each student did in a stretch. A student that decided several
// times did it all.
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

// drop leaves the first scene out, and what was done until the next.
func (j *Join) drop() {
	j.snapshots = slices.Delete(j.snapshots, 0, 1)
	begin := j.snapshots[0].At
	j.decisions = slices.DeleteFunc(j.decisions, func(d decision) bool { return d.at.Before(begin) })
	j.forget(begin)
}

// forget gaps that are over.
func (j *Join) forget(begin time.Time) {
	j.gaps = slices.DeleteFunc(j.gaps, func(g gap) bool { return !g.to.After(begin) })
}
