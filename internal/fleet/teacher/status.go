package teacher

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// Event is something that happened to the class: what triggered it, and what came of
// it.
type Event struct {
	At        time.Time     `json:"at"`
	What      string        `json:"what"`
	Reasons   []drpc.Reason `json:"reasons,omitempty"`
	Before    float64       `json:"before,omitempty"` // mean reward of a step until then
	After     float64       `json:"after,omitempty"`  // and from then on
	Version   uint64        `json:"version"`          // of the weights that were published last
	Decisions uint64        `json:"decisions"`        // that were counted by then
}

func (e Event) String() string {
	text := e.What
	if len(e.Reasons) > 0 {
		why := make([]string, len(e.Reasons))
		for i, r := range e.Reasons {
			why[i] = r.String()
		}
		text += " (" + strings.Join(why, "; ") + ")"
	}
	if e.Before != 0 {
		text += fmt.Sprintf("; reward %.3f before", e.Before)
	}
	if e.After != 0 {
		text += fmt.Sprintf(", %.3f after", e.After)
	}
	return fmt.Sprintf("%s (version %d, %d decisions)", text, e.Version, e.Decisions)
}

// eventsName is the file with the events, the newest last.
const eventsName = "events.json"

// mostEvents is how many of them are kept.
const maxEvents = 1000

func (c *Teacher) readEvents() error {
	path := filepath.Join(c.folder, eventsName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("class: %w", err)
	}
	if err := json.Unmarshal(text, &c.events); err != nil {
		return fmt.Errorf("class: %s cannot be read: %w; remove it", path, err)
	}
	return nil
}

// record keeps an event. That it cannot be written down is told and no more: what
// was learned is kept elsewhere.
func (c *Teacher) record(e Event) {
	l := c.collector.Pending()
	e.At, e.Version, e.Decisions = time.Now().UTC(), l.Version, l.Counted
	c.lock.Lock()
	c.events = append(c.events, e)
	c.events = c.events[max(0, len(c.events)-maxEvents):]
	events := slices.Clone(c.events)
	c.status.Last = e
	c.lock.Unlock()
	if c.config.Event != nil {
		c.config.Event(e)
	}
	if err := atomicfile.Write(filepath.Join(c.folder, eventsName), func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(events)
	}); err != nil {
		c.setProblem("an event cannot be written down", err)
	}
}

// Events of the class, the newest last.
func (c *Teacher) Events() []Event {
	c.lock.Lock()
	defer c.lock.Unlock()
	return slices.Clone(c.events)
}

// Status is how a class is doing.
type Status struct {
	Doing      string  `json:"doing"`      // listening, or at what long work
	Version    uint64  `json:"version"`    // of the weights that were published last
	Counted    uint64  `json:"counted"`    // decisions
	Repeated      uint64  `json:"again"`      // that had been counted before
	Scenes     uint64  `json:"scenes"`     // of the whole
	Rejected      uint64  `json:"unfit"`      // of them, those of something else
	Learned    uint64  `json:"learned"`    // stretches that the teacher has learned from
	Incomplete uint64  `json:"incomplete"` // stretches in which a student was not heard
	Broken     uint64  `json:"broken"`     // stretches without a scene at their end
	Late       uint64  `json:"late"`       // decisions that came when their stretch was over
	Silent     string  `json:"silent"`     // service whose student was not heard, the last time
	Reward     float64 `json:"reward"`     // mean of what the notifier has seen of late
	Novelty    float64 `json:"novelty"`    // the same
	Imitation  float64 `json:"imitation"`  // the same
	Drift      float64 `json:"drift"`      // the same
	Evaluated   float64 `json:"examined"`   // reward of the teacher's last examination
	Best       float64 `json:"best"`       // and of its best
	Retrained  int     `json:"refreshes"`
	Published  int     `json:"published"`
	Last       Event   `json:"last"`    // what happened last
	Problem    string  `json:"trouble"` // why nothing is read or published just now; empty = nothing
}

// Status of the class, for whoever asks.
func (c *Teacher) Status() Status {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.status
}

// updateStatus brings the status up to date.
func (c *Teacher) updateStatus(doing string) {
	l, j, means := c.collector.Pending(), c.join, drpc.Glance{}
	if !c.trainer.Busy() {
		means = c.trainer.Means()
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	s := &c.status
	s.Doing, s.Version, s.Counted, s.Repeated, s.Scenes, s.Rejected = doing, l.Version, l.Counted, l.Repeated, l.Scenes, c.rejected
	s.Learned, s.Incomplete, s.Broken, s.Late, s.Silent = c.learned, j.Incomplete, j.Broken, j.Late, j.Silent
	s.Reward, s.Novelty, s.Imitation, s.Drift = means.Reward, means.Novelty, means.Imitation, means.Drift
	s.Evaluated, s.Retrained, s.Published = c.evaluated, c.retrained, c.published
	if best := c.trainer.Best(); best > -1e9 {
		s.Best = best
	}
}

// progress of long work.
func (c *Teacher) progress(share float64, what string) {
	c.lock.Lock()
	c.status.Doing = what
	c.lock.Unlock()
	if c.config.Progress != nil {
		c.config.Progress(share, what)
	}
}

// setProblem is what stands in the way, until it does not any more.
func (c *Teacher) setProblem(what string, err error) {
	text := ""
	if err != nil {
		text = fmt.Sprintf("%s: %v", what, err)
	}
	c.lock.Lock()
	was := c.problems[what]
	if c.problems[what] = text; text == "" {
		delete(c.problems, what)
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(c.problems)) {
		all = append(all, c.problems[key])
	}
	c.status.Problem = strings.Join(all, "; ")
	c.lock.Unlock()
	if text != was && err != nil {
		c.config.log().Warn(what, "error", err)
	}
}
