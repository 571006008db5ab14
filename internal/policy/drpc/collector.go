package drpc

import "github.com/loadline/loadline"

// Position is the last message of one sender that was counted. An epoch is one process of the
// sender; sequences restart with it.
type Position struct {
	Epoch    uint64 `json:"epoch"`
	Sequence uint64 `json:"sequence"`
}

// Advance moves the position to a message and reports whether the message is new.
func (m *Position) Advance(epoch, sequence uint64) bool {
	if epoch < m.Epoch || epoch == m.Epoch && sequence <= m.Sequence {
		return false
	}
	*m = Position{epoch, sequence}
	return true
}

// Collector sums the actions of students between two steps of a teacher in the same
// process: each student has decided never, once or several times. Every experience
// counts once, however often it is delivered.
type Collector struct {
	index   map[string]int
	seen    []Position // by service
	actions []float32  // since the last Take
	Last    uint64     // stream sequence up to which everything is counted; part of a checkpoint
	Counted int
	Foreign int // of services of other applications, or delivered again
}

// NewCollector collects for an application.
func NewCollector(app *loadline.App) *Collector {
	c := &Collector{index: map[string]int{}, seen: make([]Position, len(app.Services)), actions: make([]float32, Axes*len(app.Services))}
	for i := range app.Services {
		c.index[app.Services[i].Name] = i
	}
	return c
}

// Add counts a delivery, unless it was counted before.
func (c *Collector) Add(d Delivery) {
	i, known := c.index[d.Service]
	if d.Sequence <= c.Last {
		c.Foreign++
		return
	}
	c.Last = d.Sequence
	if !known || d.Snapshot != nil || !c.seen[i].Advance(d.Epoch, d.Experience.Sequence) {
		c.Foreign++
		return
	}
	c.Counted++
	for axis, x := range d.Action {
		at := &c.actions[i*Axes+axis]
		*at = min(max(*at+x, -1), 1)
	}
}

// Drain counts and acknowledges everything in an inbox.
func (c *Collector) Drain(in Inbox) error {
	for {
		deliveries, err := in.Fetch(1024)
		if err != nil || len(deliveries) == 0 {
			return err
		}
		for _, d := range deliveries {
			c.Add(d)
		}
		if err := in.Ack(deliveries[len(deliveries)-1].Sequence); err != nil {
			return err
		}
	}
}

// Take copies the sums and resets them.
func (c *Collector) Take(actions []float32) {
	copy(actions, c.actions)
	clear(c.actions)
}
