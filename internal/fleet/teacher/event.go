package teacher

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// Event is something that the teacher noticed or did, with its cause and its effect.
type Event struct {
	At        time.Time     `json:"at"`
	What      string        `json:"what"`
	Reasons   []drpc.Reason `json:"reasons,omitempty"`
	Before    float64       `json:"before,omitempty"` // mean reward of a step before it
	After     float64       `json:"after,omitempty"`  // and after it
	Version   uint64        `json:"version"`          // of the weights that were published last
	Decisions uint64        `json:"decisions"`        // counted so far
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

// eventsName is the file with the events, newest last.
const eventsName = "events.json"

// maxEvents is how many of them are kept.
const maxEvents = 1000

func (t *Teacher) readEvents() error {
	path := filepath.Join(t.folder, eventsName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("teacher: %w", err)
	}
	if err := json.Unmarshal(text, &t.events); err != nil {
		return fmt.Errorf("teacher: %s cannot be read: %w; remove it", path, err)
	}
	return nil
}

// record keeps an event. A failure to write it is reported and does not stop the
// teacher, whose state is another file.
func (t *Teacher) record(e Event) {
	l := t.collector.Pending()
	e.At, e.Version, e.Decisions = time.Now().UTC(), l.Version, l.Counted
	t.lock.Lock()
	t.events = append(t.events, e)
	t.events = t.events[max(0, len(t.events)-maxEvents):]
	events := slices.Clone(t.events)
	t.status.Last = e
	t.lock.Unlock()
	if t.config.Event != nil {
		t.config.Event(e)
	}
	t.setProblem("an event cannot be written", atomicfile.Write(filepath.Join(t.folder, eventsName), func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(events)
	}))
}

// Events of the teacher, newest last.
func (t *Teacher) Events() []Event {
	t.lock.Lock()
	defer t.lock.Unlock()
	return slices.Clone(t.events)
}
