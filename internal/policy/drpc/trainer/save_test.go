package trainer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// tiny is a training of every phase, with a call of the notifier in it.
func tiny() Config {
	c := short(drpc.Continuous)
	c.Forecast = false
	c.Stage1 = Stage1{Steps: 120, Every: 60, Episodes: 1, Patience: 3, Gain: 0.01, Imitation: 0.3, Refresh: 40}
	c.Distil = Distillation{Episodes: 5, Batches: 60}
	c.Stage2.Steps = 60
	c.Notifier = drpc.NotifierConfig{Rewards: 30, Threshold: 2}
	return c
}

// encoded is a model and its report as bytes.
func encoded(t *testing.T, m *drpc.Model, r *Report) []byte {
	t.Helper()
	file, err := m.File()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := errors.Join(file.Encode(&b), json.NewEncoder(&b).Encode(r)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestResumedIsUninterrupted: wherever a training is killed, what goes on from the last
// save gives the same model to the byte.
func TestResumedIsUninterrupted(t *testing.T) {
	saved := map[phase][]byte{} // the second state of every phase, in the middle of it
	count := map[phase]int{}
	model, report, err := Run(t.Context(), subject(t), tiny(), Hooks{Unit: func(s *Trainer) {
		if count[s.phase]++; count[s.phase] <= 2 {
			saved[s.phase] = s.Save()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := encoded(t, model, report)
	for _, p := range []phase{exploring, distilling, comparing, acting, tuning, evaluating, finished} {
		if saved[p] == nil {
			t.Fatalf("no training was saved in phase %d, only %v", p, count)
		}
		s, err := New(t.Context(), subject(t), tiny(), Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Restore(saved[p]); err != nil {
			t.Fatalf("phase %d: %v", p, err)
		}
		model, report, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(encoded(t, model, report), want) {
			t.Errorf("resumed in phase %d it gives another model; events %v", p, report.Events)
		}
	}
}

// TestInterruptedByItsContext: it stops between two units, and what it is then is
// what goes on, with forecasts and the discrete teacher.
func TestInterruptedByItsContext(t *testing.T) {
	c := tiny()
	c.Teacher, c.Forecast = short(drpc.Discrete).Teacher, true
	c.Stage1.Steps, c.Stage2.Steps = 60, 20
	model, report, err := Run(t.Context(), subject(t), c, Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	want := encoded(t, model, report)
	var state []byte
	for parts := 1; ; parts++ {
		ctx, cancel := context.WithCancel(t.Context())
		units := 0
		s, err := New(ctx, subject(t), c, Hooks{Unit: func(*Trainer) {
			if units++; units == 4 {
				cancel()
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if state != nil {
			if err := s.Restore(state); err != nil {
				t.Fatal(err)
			}
		}
		model, report, err := s.Run(ctx)
		cancel()
		if err == nil {
			if !bytes.Equal(encoded(t, model, report), want) {
				t.Errorf("in %d parts it gives another model", parts)
			}
			if parts < 4 {
				t.Errorf("only %d parts", parts)
			}
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		state = s.Save()
	}
}

func TestATrainingOfAnotherKindIsNotResumed(t *testing.T) {
	s, err := New(t.Context(), subject(t), tiny(), Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	data := s.Save()
	other := tiny()
	other.Seed = 2
	another := subject(t)
	another.App.Services[0].Bounds.MaxReplicas++
	for name, open := range map[string]func() (*Trainer, error){
		"other settings": func() (*Trainer, error) { return New(t.Context(), subject(t), other, Hooks{}) },
		"another application": func() (*Trainer, error) {
			return New(t.Context(), another, tiny(), Hooks{})
		},
	} {
		s, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Restore(data); !errors.Is(err, ErrAnother) {
			t.Errorf("%s: %v, want %v", name, err, ErrAnother)
		}
	}
	if err := s.Restore(data[:len(data)/2]); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("torn: %v", err)
	}
}
