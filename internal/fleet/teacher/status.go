package teacher

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// What a teacher is doing, apart from training.
const (
	starting   = "starting"
	collecting = "collecting experience"
	stopped    = "stopped"
)

// Status of a teacher.
type Status struct {
	Doing       string `json:"doing"`                  // collecting experience, or the kind of training
	NotLearning string `json:"not_learning,omitempty"` // why it only counts and publishes; empty = it learns
	Problem     string `json:"problem,omitempty"`      // what does not work at the moment
	Restarts    int    `json:"restarts"`               // after failures, since the process began
	Last        Event  `json:"last"`                   // latest event
	Events      uint64 `json:"events"`                 // since the process began

	Version    uint64 `json:"version"`    // of the weights that were published last
	Published  int    `json:"published"`  // number of times
	Counted    uint64 `json:"counted"`    // decisions
	Repeated   uint64 `json:"repeated"`   // messages that had been counted before
	Unreadable uint64 `json:"unreadable"` // messages that could not be decoded
	Position   uint64 `json:"position"`   // in the stream, up to which everything is counted

	Snapshots  uint64  `json:"snapshots"`  // of the whole application
	Rejected   uint64  `json:"rejected"`   // snapshots of another application
	Learned    uint64  `json:"learned"`    // periods
	Incomplete uint64  `json:"incomplete"` // periods without the decisions of all students
	Broken     uint64  `json:"broken"`     // periods without a snapshot at their end
	Late       uint64  `json:"late"`       // decisions that were received after their period
	Silent     string  `json:"silent"`     // service whose decisions were missing last
	Reward     float64 `json:"reward"`     // recent mean, as the notifier sees it
	Novelty    float64 `json:"novelty"`    // likewise
	Imitation  float64 `json:"imitation"`  // likewise
	Drift      float64 `json:"drift"`      // likewise
	Evaluated  float64 `json:"evaluated"`  // reward of the last evaluation
	Best       float64 `json:"best"`       // and of the best one
	Retrained  int     `json:"refreshes"`
}

// Status of the teacher. It may be called by any goroutine.
func (t *Teacher) Status() Status {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.status
}

// updateStatus publishes the state of the loop.
func (t *Teacher) updateStatus(doing string) {
	l := t.collector.Pending()
	t.lock.Lock()
	defer t.lock.Unlock()
	s := &t.status
	s.Doing, s.Version, s.Published, s.Snapshots = doing, l.Version, t.published, l.Snapshots
	s.Counted, s.Repeated, s.Unreadable, s.Position = l.Counted, l.Repeated, t.collector.Unreadable(), l.Last
	if !t.learns() {
		return
	}
	means := drpc.Signals{}
	if !t.trainer.Busy() {
		means = t.trainer.Signals()
	}
	j := t.join
	s.Rejected, s.Learned, s.Incomplete, s.Broken, s.Late, s.Silent = t.rejected, t.learned, j.Incomplete, j.Broken, j.Late, j.Silent
	s.Reward, s.Novelty, s.Imitation, s.Drift = means.Reward, means.Novelty, means.Imitation, means.Drift
	s.Evaluated, s.Retrained = t.evaluated, t.retrained
	if best := t.trainer.Best(); best > -1e9 {
		s.Best = best
	}
}

// progress of training.
func (t *Teacher) progress(share float64, what string) {
	t.lock.Lock()
	t.status.Doing = what
	t.lock.Unlock()
	if t.config.Progress != nil {
		t.config.Progress(share, what)
	}
}

// setProblem reports what does not work, or with nil that it works again. A problem is
// logged when it begins and when its error changes.
func (t *Teacher) setProblem(what string, err error) {
	text := ""
	if err != nil {
		text = fmt.Sprintf("%s: %v", what, err)
	}
	t.lock.Lock()
	was := t.problems[what]
	if t.problems[what] = text; text == "" {
		delete(t.problems, what)
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(t.problems)) {
		all = append(all, t.problems[key])
	}
	t.status.Problem = strings.Join(all, "; ")
	t.lock.Unlock()
	if text != was && err != nil {
		t.config.log().Warn(what, "error", err)
	}
}
