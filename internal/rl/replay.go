package rl

import (
	"errors"
	"fmt"
)

// ReplayConfig configures a replay buffer.
type ReplayConfig struct {
	Capacity int
	Steps    int     // of reward before the value of the next state counts
	Discount float64 // per step
	Priority Priority
}

// Validate reports every fault at once.
func (c ReplayConfig) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Capacity < 1 {
		fault("replay is %d, must be at least 1", c.Capacity)
	}
	if c.Steps < 1 {
		fault("steps is %d, must be at least 1", c.Steps)
	}
	if !(c.Discount >= 0 && c.Discount <= 1) {
		fault("discount is %v, must be from 0 to 1", c.Discount)
	}
	return errors.Join(append(faults, c.Priority.Validate())...)
}

// Replay is a ring buffer of transitions. A transition is one row of numbers, so that drawing
// one touches few cache lines:
//
//	observation | action | return | discount | next observation
//
// The return is the discounted sum of the rewards of one or several steps; the discount is the
// weight of the value of the next observation, 0 if the episode terminated. Learners need not
// know how many steps a row spans, or why it ended.
type Replay struct {
	config ReplayConfig
	spaces Spaces
	layout layout
	rows   []float32 // a ring
	count  int       // rows held
	at     int       // position of the next one
	window window
	tree   *sumTree // nil without priorities
	draws  int      // batches drawn so far
}

// layout is the offsets of the parts of a row.
type layout struct{ action, reward, discount, next, width int }

// NewReplay makes an empty buffer. The config must be valid.
func NewReplay(spaces Spaces, config ReplayConfig) *Replay {
	actionWidth := spaces.Dimensions
	if spaces.Discrete() {
		actionWidth = 1
	}
	l := layout{action: spaces.Observation}
	l.reward = l.action + actionWidth
	l.discount = l.reward + 1
	l.next = l.discount + 1
	l.width = l.next + spaces.Observation
	r := &Replay{config: config, spaces: spaces, layout: l, rows: make([]float32, config.Capacity*l.width)}
	r.window = window{rows: make([]float32, config.Steps*l.width), layout: l, discount: float32(config.Discount)}
	if config.Priority.Exponent > 0 {
		r.tree = newSumTree(config.Capacity)
	}
	return r
}

// Len is the number of rows.
func (r *Replay) Len() int { return r.count }

// Add adds a transition, which becomes a row once all steps of its return are known or its
// episode has ended.
func (r *Replay) Add(t Transition) {
	r.window.add(t, r.spaces.Discrete())
	for row := r.window.ripe(t, r.config.Steps); row != nil; row = r.window.ripe(t, r.config.Steps) {
		r.keep(row)
	}
}

// keep overwrites the oldest row.
func (r *Replay) keep(row []float32) {
	copy(r.rows[r.at*r.layout.width:], row)
	if r.tree != nil {
		r.tree.set(r.at, r.tree.largest) // so that each is drawn at least once
	}
	r.at = (r.at + 1) % r.config.Capacity
	r.count = min(r.count+1, r.config.Capacity)
}

// Batch is transitions drawn from a replay buffer, by column.
type Batch struct {
	Size         int
	Observations []float32
	Choices      []int     // of a discrete space
	Actions      []float32 // of a continuous one
	Returns      []float32
	Discounts    []float32
	Next         []float32
	Weights      []float32 // of each; nil without priorities

	drawn []int
}

// NewBatch allocates a batch.
func (r *Replay) NewBatch(size int) *Batch {
	b := &Batch{
		Size: size, drawn: make([]int, size),
		Observations: make([]float32, size*r.spaces.Observation), Next: make([]float32, size*r.spaces.Observation),
		Returns: make([]float32, size), Discounts: make([]float32, size),
	}
	if r.spaces.Discrete() {
		b.Choices = make([]int, size)
	} else {
		b.Actions = make([]float32, size*r.spaces.Dimensions)
	}
	if r.tree != nil {
		b.Weights = make([]float32, size)
	}
	return b
}

// Draw fills the batch, with replacement. The buffer must not be empty.
func (r *Replay) Draw(b *Batch, rng *RNG) {
	if r.tree != nil {
		r.drawByPriority(b, rng)
	} else {
		for i := range b.drawn {
			b.drawn[i] = int(rng.Uint32N(uint32(r.count)))
		}
	}
	r.draws++
	l, width := r.layout, r.spaces.Observation
	for i, index := range b.drawn {
		row := r.rows[index*l.width:][:l.width]
		copy(b.Observations[i*width:][:width], row)
		copy(b.Next[i*width:][:width], row[l.next:])
		b.Returns[i], b.Discounts[i] = row[l.reward], row[l.discount]
		if b.Choices != nil {
			b.Choices[i] = int(row[l.action])
		} else {
			copy(b.Actions[i*r.spaces.Dimensions:], row[l.action:l.reward])
		}
	}
}

// Archive saves or restores the buffer.
func (r *Replay) Archive(a *Archive) {
	a.Int(&r.count)
	a.Int(&r.at)
	a.Int(&r.draws)
	if a.Err() == nil && (r.count < 0 || r.count > r.config.Capacity || r.at < 0 || r.at >= r.config.Capacity) {
		a.Fail(fmt.Errorf("rl: the saved replay holds %d rows, this has room for %d", r.count, r.config.Capacity))
		return
	}
	a.Floats(r.rows[:r.count*r.layout.width])
	r.window.archive(a)
	if r.tree != nil {
		r.tree.archive(a, r.count)
	}
}
