package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/lab/measure"
	"github.com/loadline/loadline/lab/realapp"
)

// The load generator goes before everything else on the core that it shares with the control plane.
var realTime = []string{"chrt", "--fifo", "10"}

// generatorStart is how long the generator's process has to start.
const generatorStart = 2 * time.Second

// sending is load that a process of its own sends.
type sending struct {
	Start   time.Time
	command *exec.Cmd
	out     bytes.Buffer
}

// Send starts the load of a time, drawn from the seed, from a process of its own.
func (d *Deployed) Send(t testing.TB, load sim.Arrivals, length time.Duration, fresh bool, seed uint64) *sending {
	t.Helper()
	return d.SendArrivals(t, realapp.Schedule(d.App, load, length, rand.New(rand.NewPCG(seed, 0))), fresh, seed)
}

// SendArrivals sends these from a process of its own, which begins at the Start of what it returns.
func (d *Deployed) SendArrivals(t testing.TB, arrivals []realapp.Arrival, fresh bool, seed uint64) *sending {
	t.Helper()
	model, err := apps.Encode(d.App)
	if err != nil {
		t.Fatal(err)
	}
	l := realapp.Load{
		Model: string(model), Entries: map[string]string{}, Start: time.Now().Add(generatorStart), Fresh: fresh, Seed: seed,
		Arrivals: arrivals,
	}
	for i := range d.App.Services {
		l.Entries[d.App.Services[i].Name] = d.Entry(d.App.Services[i].Name)
	}
	in, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	s := &sending{Start: l.Start}
	s.command = ourselves(t.Context(), generatorRole, realTime...)
	s.command.Stdin, s.command.Stdout = bytes.NewReader(in), &s.out
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// Answers waits for all of them.
func (s *sending) Answers(t testing.TB) []realapp.Answer {
	t.Helper()
	var answers []realapp.Answer
	if err := s.command.Wait(); err != nil {
		t.Fatalf("the load generator: %v", err)
	}
	if err := json.Unmarshal(s.out.Bytes(), &answers); err != nil {
		t.Fatalf("the load generator's answers: %v", err)
	}
	return answers
}

// ourselves runs this test binary in another role, by a command that runs others.
func ourselves(ctx context.Context, role string, by ...string) *exec.Cmd {
	line := append(slices.Clone(by), os.Args[0])
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Env = append(os.Environ(), roleVariable+"="+role)
	command.Stderr = os.Stderr
	return command
}

// stayAwake keeps all cores from halting until the end of the test: an idle core of a virtual machine
// takes milliseconds to wake.
func stayAwake(t testing.TB) {
	t.Helper()
	command := ourselves(t.Context(), awakeRole)
	in, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = command.Wait() // it ends with its input
	})
}

// beGenerator and beAwake are what the roles do.
func beGenerator() int { return said(realapp.Generate(context.Background(), os.Stdin, os.Stdout)) }

func beAwake() int { return said(measure.StayAwake(os.Stdin, os.Stderr)) }

func said(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
