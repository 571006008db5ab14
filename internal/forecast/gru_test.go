package forecast

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/modelfile"
)

func TestGRURoundTripsThroughAModelFile(t *testing.T) {
	frame := noisyDays(450, 1)
	f := fitted(t, "gru", frame.Slice(0, 400))
	file, err := f.Model().(*GRU).File("noisy days", []modelfile.Result{{Name: "MSE", On: "test", Value: 1}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := file.Encode(&b); err != nil {
		t.Fatal(err)
	}
	read, err := modelfile.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	model, err := LoadGRU(read)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := NewForecaster(model, model.Task())
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Replay(frame.Slice(0, 400)); err != nil {
		t.Fatal(err)
	}
	for bin := 400; bin < 450; bin++ {
		for _, x := range []*Forecaster{f, loaded} {
			if err := x.Observe(frame.At(bin), frame.Rows[bin]...); err != nil {
				t.Fatal(err)
			}
		}
		if a, b := mustForecast(t, f, frame.At(bin)), mustForecast(t, loaded, frame.At(bin)); !same(a, b) {
			t.Fatalf("bin %d: the loaded model answers %+v, the trained one %+v", bin, b, a)
		}
	}
	other := NewFrame("another", frame.Start, time.Hour, frame.Target())
	if err := loaded.Replay(other); err == nil || !strings.Contains(err.Error(), "another") {
		t.Errorf("accepted an unknown series: %v", err)
	}
}

func TestUnfitFilesAreRefused(t *testing.T) {
	f := fitted(t, "gru", noisyDays(400, 1))
	for name, spoil := range map[string]func(*modelfile.File){
		"another kind":       func(f *modelfile.File) { f.Card.Kind = "policy/dqn" },
		"no settings":        func(f *modelfile.File) { f.Card.Settings = nil },
		"unknown settings":   func(f *modelfile.File) { f.Card.Settings = []byte(`{"colour":"red"}`) },
		"another width":      func(f *modelfile.File) { replace(f, `"hidden":8`, `"hidden":9`) },
		"fewer members":      func(f *modelfile.File) { replace(f, `"members":2`, `"members":1`) },
		"more members":       func(f *modelfile.File) { replace(f, `"members":2`, `"members":3`) },
		"a missing series":   func(f *modelfile.File) { f.Card.Features = nil },
		"a backward horizon": func(f *modelfile.File) { replace(f, `"horizons":[1,3,6]`, `"horizons":[3,1,6]`) },
		"no step":            func(f *modelfile.File) { replace(f, `"step_ns":60000000000`, `"step_ns":0`) },
	} {
		t.Run(name, func(t *testing.T) {
			file, err := f.Model().(*GRU).File("x", nil)
			if err != nil {
				t.Fatal(err)
			}
			spoil(file)
			if _, err := LoadGRU(file); err == nil {
				t.Error("taken")
			}
		})
	}
}

func replace(f *modelfile.File, old, by string) {
	if !bytes.Contains(f.Card.Settings, []byte(old)) {
		panic(old + " is not in " + string(f.Card.Settings))
	}
	f.Card.Settings = bytes.Replace(slices.Clone(f.Card.Settings), []byte(old), []byte(by), 1)
}

func TestUntrainedGRUIsNotSaved(t *testing.T) {
	m, err := NewGRU(contractTask, GRUConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.File("x", nil); err == nil {
		t.Error("saved")
	}
}

// TestNoOutcomeIsTrainedOnAndStoppedBy, and every part is trained on by some member.
func TestNoOutcomeIsTrainedOnAndStoppedBy(t *testing.T) {
	m := contractModel(t, "gru").(*GRU)
	m.series = 1
	w, err := m.cut(noisyDays(400, 3))
	if err != nil {
		t.Fatal(err)
	}
	taught := map[int]int{}
	for member := range 5 {
		train, held := m.parts(w, member)
		outcomes := map[int]bool{}
		for _, i := range train {
			taught[i]++
			for _, steps := range m.task.Horizons {
				outcomes[i+steps] = true
			}
		}
		for _, i := range held {
			for _, steps := range m.task.Horizons {
				if outcomes[i+steps] && i+steps < 400 {
					t.Fatalf("member %d: bin %d is both", member, i+steps)
				}
			}
		}
		if len(held) < 60 || len(train) < 300 {
			t.Errorf("member %d: %d to train on, %d to stop by", member, len(train), len(held))
		}
	}
	for _, i := range w.ends {
		if taught[i] < 3 {
			t.Errorf("the window that ends at bin %d teaches %d of 5 members", i, taught[i])
		}
	}
}

func TestGRUSaysHowFarItsTrainingIs(t *testing.T) {
	shares := []float64{}
	m, err := NewGRU(contractTask, GRUConfig{Window: 8, Hidden: 4, Members: 2, Epochs: 2, Progress: func(share, loss float64) {
		if math.IsNaN(loss) {
			t.Error("the loss is not a number")
		}
		shares = append(shares, share)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Fit(context.Background(), noisyDays(400, 4)); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(shares) || shares[len(shares)-1] != 1 {
		t.Errorf("%v", shares)
	}
}

func TestGRUNeedsEnoughHistory(t *testing.T) {
	m := contractModel(t, "gru")
	if err := m.Fit(context.Background(), noisyDays(40, 5)); err == nil || !strings.Contains(err.Error(), "windows") {
		t.Errorf("%v", err)
	}
}

func TestWorkersDoNotChangeWhatIsLearned(t *testing.T) {
	var answers []Forecast
	history := noisyDays(400, 6)
	for _, workers := range []int{1, 3} {
		m, err := NewGRU(contractTask, GRUConfig{Window: 8, Hidden: 4, Members: 4, Epochs: 2, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		f, err := NewForecaster(m, contractTask)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Fit(context.Background(), history); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, mustForecast(t, f, history.At(399)))
	}
	if !same(answers[0], answers[1]) {
		t.Error("three workers learn something else than one")
	}
}
