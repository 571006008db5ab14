package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/apps"
)

// answer of a desk, which must not be an error.
func answer(t *testing.T, d *Desk, message string) Reply {
	t.Helper()
	text := d.Answer(context.Background(), []byte(message))
	var r Reply
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%s: %v in %s", message, err, text)
	}
	if r.Error != "" {
		t.Fatalf("%s: %s", message, r.Error)
	}
	return r
}

func desk(t *testing.T, s Settings) (*Desk, Reply) {
	t.Helper()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	d := NewDesk(s)
	t.Cleanup(d.Close)
	return d, answer(t, d, `{"open":{}}`)
}

// small is quick to simulate.
var small = Settings{App: "bookinfo", Load: "constant:rps=20", Seed: 3}

// advance by minutes, with commands at the beginning.
func advance(t *testing.T, d *Desk, minutes int, commands string) (samples [2][]Sample, events [2][]Event, last State) {
	t.Helper()
	for range minutes {
		r := answer(t, d, `{"step":{"seconds":60,"commands":[`+commands+`]}}`)
		commands = ""
		for i, s := range r.State.Sides {
			samples[i] = append(samples[i], s.Samples...)
			events[i] = append(events[i], s.Events...)
		}
		last = *r.State
	}
	return samples, events, last
}

// play is a sandbox in which everything happens, as the bytes that the page gets.
func play(t *testing.T, s Settings, bits ...float64) []byte {
	t.Helper()
	d, _ := desk(t, s)
	var all bytes.Buffer
	for i, do := range []string{
		`{"do":"load","factor":2.5}`, `{"do":"node"}`, `{"do":"neighbour","on":true}`, `{"do":"prometheus","on":false}`,
		`{"do":"pattern","pattern":"bursts"}`, `{"do":"version","on":true}`, `{"do":"calm"}`,
	} {
		all.Write(d.Answer(context.Background(), fmt.Appendf(nil, `{"step":{"seconds":%v,"commands":[%s]}}`, bits[i%len(bits)], do)))
	}
	return all.Bytes()
}

// TestTheSameCommandsGiveTheSameStates, byte for byte, and another seed gives others.
func TestTheSameCommandsGiveTheSameStates(t *testing.T) {
	want := play(t, small, 40, 75.5)
	if got := play(t, small, 40, 75.5); !bytes.Equal(got, want) {
		t.Errorf("the same commands gave\n%s\nand\n%s", got, want)
	}
	other := small
	other.Seed = 4
	if bytes.Equal(play(t, other, 40, 75.5), want) {
		t.Error("another seed gave the same states")
	}
	if bytes.Contains(want, []byte(`"error"`)) {
		t.Errorf("a command failed: %s", want)
	}
}

// TestBitsDoNotMatter: a minute in one step is a minute in many, as the page makes them.
func TestBitsDoNotMatter(t *testing.T) {
	end := func(steps int, seconds float64) State {
		d, _ := desk(t, small)
		answer(t, d, `{"step":{"seconds":0,"commands":[{"do":"load","factor":3}]}}`)
		var r Reply
		for range steps {
			r = answer(t, d, fmt.Sprintf(`{"step":{"seconds":%v}}`, seconds))
		}
		for i := range r.State.Sides {
			r.State.Sides[i].Samples, r.State.Sides[i].Events = nil, nil
		}
		return *r.State
	}
	one, many := end(1, 60), end(300, 0.2)
	a, _ := json.Marshal(one)
	b, _ := json.Marshal(many)
	if !bytes.Equal(a, b) {
		t.Errorf("at once %s\nin bits %s", a, b)
	}
}

// TestBothSidesHaveTheSameLoad: as many requests arrive at each instant, whatever scales them and
// whatever happens.
func TestBothSidesHaveTheSameLoad(t *testing.T) {
	d, _ := desk(t, small)
	var all [2][]Sample
	for _, do := range []string{
		``, `{"do":"load","factor":3}`, `{"do":"pattern","pattern":"bursts"}`, `{"do":"prometheus","on":false}`, `{"do":"node"}`,
		`{"do":"neighbour","on":true},{"do":"version","on":true}`, `{"do":"load","factor":0.3}`,
	} {
		samples, _, _ := advance(t, d, 2, do)
		for i := range all {
			all[i] = append(all[i], samples[i]...)
		}
	}
	if len(all[0]) < 14*12 || len(all[0]) != len(all[1]) {
		t.Fatalf("%d and %d samples", len(all[0]), len(all[1]))
	}
	least, most := math.Inf(1), 0.0
	for i := range all[0] {
		if a, b := all[0][i], all[1][i]; a.Load != b.Load || a.At != b.At {
			t.Errorf("at %v s %v requests/s arrive on one side, at %v s %v on the other", a.At, a.Load, b.At, b.Load)
		}
		least, most = min(least, all[0][i].Load), max(most, all[0][i].Load)
	}
	if most < 5*least {
		t.Errorf("the load is from %v to %v requests/s: the commands do not act", least, most)
	}
}

// TestCommandsAct, on both sides alike.
func TestCommandsAct(t *testing.T) {
	count := func(s Side, state string) (n int) {
		for _, node := range s.Nodes {
			if node.State == state {
				n++
			}
		}
		return n
	}
	hasEvent := func(events []Event, kind, text string) bool {
		for _, e := range events {
			if e.Type == kind && strings.Contains(e.Text, text) {
				return true
			}
		}
		return false
	}
	t.Run("load", func(t *testing.T) {
		d, opened := desk(t, small)
		_, events, after := advance(t, d, 8, `{"do":"load","factor":4}`)
		if after.Load != 80 || after.Factor != 4 {
			t.Errorf("a load of %v at factor %v", after.Load, after.Factor)
		}
		for i, s := range after.Sides {
			if before := opened.State.Sides[i]; ready(s) <= ready(before) || !hasEvent(events[i], "decision", "Scales") {
				t.Errorf("side %d has %d pods, before %d; events %+v", i, ready(s), ready(before), events[i])
			}
		}
	})
	t.Run("prometheus", func(t *testing.T) {
		d, _ := desk(t, small)
		_, events, after := advance(t, d, 5, `{"do":"prometheus","on":false}`)
		if !after.Faults.Blind || after.Sides[1].Rung == "primary" {
			t.Errorf("faults %+v, the guard is on %s", after.Faults, after.Sides[1].Rung)
		}
		if !hasEvent(events[1], "rung", "primary") {
			t.Errorf("the feed is %+v", events[1])
		}
		_, _, after = advance(t, d, 20, `{"do":"prometheus","on":true}`)
		if after.Faults.Blind || after.Sides[1].Rung != "primary" {
			t.Errorf("with metrics again: faults %+v, the guard is on %s", after.Faults, after.Sides[1].Rung)
		}
	})
	t.Run("node", func(t *testing.T) {
		d, _ := desk(t, Settings{App: "bookinfo", Load: "constant:rps=100", Seed: 3})
		_, events, after := advance(t, d, 1, `{"do":"node"}`)
		for i, s := range after.Sides {
			if count(s, "lost") != 1 || !hasEvent(events[i], "node", "failed") {
				t.Errorf("side %d: nodes %+v, events %+v", i, s.Nodes, events[i])
			}
		}
		_, _, after = advance(t, d, 9, "")
		for i, s := range after.Sides {
			if count(s, "lost") != 0 || count(s, "up") == 0 {
				t.Errorf("side %d after ten minutes: nodes %+v", i, s.Nodes)
			}
		}
	})
	t.Run("neighbour", func(t *testing.T) {
		d, opened := desk(t, small)
		_, _, after := advance(t, d, 1, `{"do":"neighbour","on":true}`)
		for i, s := range after.Sides {
			if before := opened.State.Sides[i].Nodes[0].Others; s.Nodes[0].Others < 3*before {
				t.Errorf("side %d: others want %v cores, before %v", i, s.Nodes[0].Others, before)
			}
		}
	})
	t.Run("version and calm", func(t *testing.T) {
		d, opened := desk(t, small)
		slow := opened.About.Slow
		at := slices.Index(opened.About.Services, slow)
		used := func(commands string) (cores [2]float64) { // mean of two minutes
			for range 8 {
				r := answer(t, d, `{"step":{"seconds":15,"commands":[`+commands+`]}}`)
				commands = ""
				for i, s := range r.State.Sides {
					of := s.Services[at]
					cores[i] += float64(of.Use) * float64(of.Ready) * of.Request / 8
				}
			}
			return cores
		}
		before, slower := used(""), used(`{"do":"version","on":true}`)
		for i := range before {
			if slower[i] < 1.4*before[i] {
				t.Errorf("side %d uses %v cores, before %v", i, slower[i], before[i])
			}
		}
		_, _, after := advance(t, d, 1, `{"do":"prometheus","on":false},{"do":"load","factor":2},{"do":"calm"}`)
		if (after.Faults != Faults{}) || after.Factor != 1 {
			t.Errorf("after calm: %+v, factor %v", after.Faults, after.Factor)
		}
	})
}

func ready(s Side) (n int) {
	for _, of := range s.Services {
		n += of.Ready
	}
	return n
}

// TestAStateAddsUp: every pod is on one node or pends, and bills and samples are there.
func TestAStateAddsUp(t *testing.T) {
	d, opened := desk(t, small)
	if a := opened.About; a.App != "bookinfo" || a.Sides[0] != "hpa" || a.Sides[1] != "planner" || a.Price <= 0 || len(a.Kinds) == 0 {
		t.Errorf("about: %+v", a)
	}
	_, _, after := advance(t, d, 3, "")
	for i, s := range after.Sides {
		pods, desired := len(s.Pending), 0
		for _, n := range s.Nodes {
			pods += len(n.Pods)
		}
		for _, of := range s.Services {
			desired += of.Desired
		}
		if pods < desired || s.Bill <= 0 || s.PerHour <= 0 || s.Requests < 3000 || !(s.Over >= 0 && s.Over <= 1) {
			t.Errorf("side %d: %d pods of %d, bill %v, %v an hour, %v requests, %v over", i, pods, desired, s.Bill, s.PerHour, s.Requests, s.Over)
		}
		if hours := s.Bill / s.PerHour; math.Abs(hours-3./60) > 0.02 {
			t.Errorf("side %d: %v at %v an hour is not three minutes", i, s.Bill, s.PerHour)
		}
	}
}

// TestEveryApplicationCanBeOpened, with its usual load.
func TestEveryApplicationCanBeOpened(t *testing.T) {
	for _, name := range apps.Names() {
		if err := (Settings{App: name}).Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBadSettings(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Settings
		want string
	}{
		{"an application that is not there", Settings{App: "botique"}, `no application "botique": must be one of`},
		{"a load that is none", Settings{Load: "constnt:rps=3"}, "constnt"},
		{"a rule that is none", Settings{Rule: "hpq"}, `rule: `},
		{"a speed beyond the limit", Settings{Speed: 1e6}, "speed 1000000: must be from 1 to 600"},
		{"a model that is none", Settings{App: "mine.yaml", Model: "services: ["}, "mine.yaml"},
		{"rates without a step", Settings{Load: "r.csv", Rates: &Rates{PerSecond: []float64{1}}}, "step"},
		{"a load that is too large", Settings{Load: "constant:rps=1000000"}, "scale it down"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.s.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestBadMessages(t *testing.T) {
	d := NewDesk(small)
	for message, want := range map[string]string{
		``:                                 "not understood",
		`{`:                                "not understood",
		`{"open":{}} x`:                    "followed by something else",
		`{"open":{},"step":{}}`:            "either open or step",
		`{}`:                               "either open or step",
		`{"shut":{}}`:                      "unknown field",
		`{"step":{"seconds":1}}`:           "no sandbox is open",
		`{"open":{"seed":-1}}`:             "not understood",
		`{"step":{"seconds":1,"foo":"a"}}`: "unknown field",
	} {
		var r Reply
		if err := json.Unmarshal(d.Answer(context.Background(), []byte(message)), &r); err != nil || !strings.Contains(r.Error, want) {
			t.Errorf("%s: %v, %q, want %q", message, err, r.Error, want)
		}
	}
	answer(t, d, `{"open":{}}`)
	for message, want := range map[string]string{
		`{"step":{"seconds":-1}}`:                                                                        "must be from 0",
		`{"step":{"seconds":1e9}}`:                                                                       "must be from 0",
		`{"step":{"seconds":1,"commands":[{"do":"reboot"}]}}`:                                            `no command "reboot"`,
		`{"step":{"seconds":1,"commands":[{"do":"load","factor":99}]}}`:                                  "load factor 99: must be from",
		`{"step":{"seconds":1,"commands":[{"do":"pattern","pattern":"x"}]}}`:                             `no pattern "x"`,
		`{"step":{"seconds":1,"commands":[` + strings.Repeat(`{"do":"calm"},`, 101) + `{"do":"calm"}]}}`: "at most 100",
	} {
		var r Reply
		if err := json.Unmarshal(d.Answer(context.Background(), []byte(message)), &r); err != nil || !strings.Contains(r.Error, want) {
			t.Errorf("%s: %v, %q, want %q", message, err, r.Error, want)
		}
	}
	d.Close()
}

// TestADialForgetsThePast: many changes do not take memory.
func TestADialForgetsThePast(t *testing.T) {
	sc, err := small.scene()
	if err != nil {
		t.Fatal(err)
	}
	d := newDial(sc.patterns, sc.first)
	for i := range 10_000 {
		if err := d.setFactor(time.Duration(i)*300*time.Millisecond, 1+float64(i%3)); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.settings) > 3 {
		t.Errorf("%d settings are kept", len(d.settings))
	}
}
