package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// Request is a message from the page: open a sandbox, or give it commands and let it go on.
type Request struct {
	Open *struct {
		Seed uint64 `json:"seed,omitempty"` // 0 = that of the settings
	} `json:"open,omitempty"`
	Step *struct {
		Seconds  float64   `json:"seconds"` // of simulated time, after the commands
		Commands []Command `json:"commands,omitempty"`
	} `json:"step,omitempty"`
}

// Reply is the answer.
type Reply struct {
	About *About `json:"about,omitempty"` // of a sandbox that was opened
	State *State `json:"state,omitempty"`
	Error string `json:"error,omitempty"` // what was wrong with the request; nothing else is set
}

// maxCommands of one request.
const maxCommands = 100

// Desk answers the messages of one page. It has one sandbox at a time.
type Desk struct {
	settings Settings
	box      *Sandbox
}

// NewDesk makes a desk for valid settings.
func NewDesk(s Settings) *Desk { return &Desk{settings: s.WithDefaults()} }

// Answer a message in JSON. Every message has an answer.
func (d *Desk) Answer(ctx context.Context, message []byte) []byte {
	reply, err := d.answer(ctx, message)
	if err != nil {
		reply = Reply{Error: err.Error()}
	}
	text, err := json.Marshal(reply)
	if err != nil { // a number that JSON does not have
		text, _ = json.Marshal(Reply{Error: "the state cannot be written: " + err.Error()})
	}
	return text
}

func (d *Desk) answer(ctx context.Context, message []byte) (Reply, error) {
	var r Request
	in := json.NewDecoder(bytes.NewReader(message))
	in.DisallowUnknownFields()
	if err := in.Decode(&r); err != nil {
		return Reply{}, fmt.Errorf("the message is not understood: %w", err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return Reply{}, errors.New("the message is followed by something else")
	}
	if (r.Open != nil) == (r.Step != nil) {
		return Reply{}, errors.New("the message must have either open or step")
	}
	if r.Open != nil {
		return d.open(ctx, r.Open.Seed)
	}
	return d.step(ctx, r.Step.Seconds, r.Step.Commands)
}

func (d *Desk) open(ctx context.Context, seed uint64) (Reply, error) {
	settings := d.settings
	if seed != 0 {
		settings.Seed = seed
	}
	box, err := Open(ctx, settings)
	if err != nil {
		return Reply{}, err
	}
	d.Close()
	d.box = box
	about, state := box.About(), box.State()
	return Reply{About: &about, State: &state}, nil
}

func (d *Desk) step(ctx context.Context, seconds float64, commands []Command) (Reply, error) {
	switch {
	case d.box == nil:
		return Reply{}, errNotOpen
	case !(seconds >= 0 && seconds <= maxAdvance.Seconds()):
		return Reply{}, fmt.Errorf("step of %v s: must be from 0 to %v", seconds, maxAdvance.Seconds())
	case len(commands) > maxCommands:
		return Reply{}, fmt.Errorf("%d commands in one message: at most %d are read", len(commands), maxCommands)
	}
	for _, c := range commands {
		if err := d.box.Do(c); err != nil {
			return Reply{}, err
		}
	}
	if err := d.box.Advance(ctx, time.Duration(math.Round(seconds*1e3))*time.Millisecond); err != nil {
		return Reply{}, err
	}
	state := d.box.State()
	return Reply{State: &state}, nil
}

// Close ends the sandbox.
func (d *Desk) Close() {
	if d.box != nil {
		d.box.Close()
		d.box = nil
	}
}
