package drpc

import "github.com/loadline/loadline"

// Collector puts students' experience together: between two steps of the teacher
// each student has decided never, once or several times, and what they did is one
// action of the whole. Each experience counts once, however often it is delivered.
type Collector struct {
	index   map[string]int
	seen    []Mark    // by service
	actions []float32 // since the last Take
	Last    uint64    // sequence of the stream up to which everything is counted: part of a checkpoint
	Counted int
	Foreign int // of services that are not of this application, or delivered again
}

// Mark is the last experience of a student that was counted.
type Mark struct{ Epoch, Sequence uint64 }

// NewCollector collects for an application.
func NewCollector(app *loadline.App) *Collector {
	c := &Collector{index: map[string]int{}, seen: make([]Mark, len(app.Services)), actions: make([]float32, Axes*len(app.Services))}
	for i := range app.Services {
		c.index[app.Services[i].Name] = i
	}
	return c
}

// Add counts a delivery, unless it was counted before.
func (c *Collector) Add(d Delivery) {
	i, ours := c.index[d.Service]
	if d.Sequence > c.Last {
		c.Last = d.Sequence
	} else {
		c.Foreign++
		return
	}
	if !ours || d.Scene != nil {
		c.Foreign++
		return
	}
	m := &c.seen[i]
	if d.Epoch < m.Epoch || d.Epoch == m.Epoch && d.Experience.Sequence <= m.Sequence {
		c.Foreign++
		return
	}
	*m = Mark{d.Epoch, d.Experience.Sequence}
	c.Counted++
	for axis, x := range d.Action {
		at := &c.actions[i*Axes+axis]
		*at = min(max(*at+x, -1), 1)
	}
}

// Drain takes all that an inbox has, and acknowledges it.
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

// Take copies what was done since the last time, and begins anew.
func (c *Collector) Take(actions []float32) {
	copy(actions, c.actions)
	clear(c.actions)
}
