package bench

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/workload"
)

func task(t *testing.T, method string) TrainingTask {
	t.Helper()
	m, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := workload.Open("day", workload.Options{Duration: 4 * time.Hour, Peak: 100, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	of, err := policy.Trainable(method)
	if err != nil {
		t.Fatal(err)
	}
	return TrainingTask{Method: of, App: m.App, Load: w, Setting: TrainingSettings()[0], Steps: policy.LeastSteps, Seed: 1}
}

func folder(t *testing.T, dir, program string) *ModelFolder {
	t.Helper()
	f, err := OpenModelFolder(dir, program)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestEveryMethodGivesAPolicy is the contract of all trainable methods.
func TestEveryMethodGivesAPolicy(t *testing.T) {
	for _, m := range policy.TrainableMethods() {
		t.Run(m.Name, func(t *testing.T) {
			on := task(t, m.Name)
			var models [2][]byte
			for i := range models {
				reported := 0.0
				made, err := folder(t, t.TempDir(), "test").Train(t.Context(), on, func(share float64) { reported = max(reported, share) })
				if err != nil {
					t.Fatal(err)
				}
				if made.Learner != m.Name || made.Steps != on.Steps || len(made.Curve) == 0 || made.Parameters == 0 ||
					math.IsNaN(float64(made.Score)) {
					t.Errorf("%+v", made)
				}
				if y := float64(made.CommonReward); len(made.Evaluations) > 0 && !(y > -1 && y <= 1) {
					t.Errorf("a common reward of %v, must be a reward of DRPC's", y)
				}
				if reported < 0.9 {
					t.Errorf("progress ended at %v", reported)
				}
				if _, err := policy.New(m.Spec(made.Path(), ""), on.App); err != nil {
					t.Error(err)
				}
				if models[i], err = os.ReadFile(made.Path()); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(models[0], models[1]) {
				t.Error("the same task gave another model")
			}
		})
	}
}

// counted is a method that counts its trainings.
func counted(times *int, wait chan struct{}) policy.Method {
	var mu sync.Mutex
	return policy.Method{Name: "counted", Train: func(_ context.Context, t policy.Task) (*policy.Trained, error) {
		mu.Lock()
		*times++
		mu.Unlock()
		if wait != nil {
			<-wait
		}
		if t.Seed == 13 {
			return nil, errors.New("bad luck")
		}
		return &policy.Trained{Model: empty(t.Seed), Evaluations: []policy.Evaluation{{CommonReward: 1 - math.Abs(t.Rate-3)}}}, nil
	}}
}

// empty is a model whose file has only the seed.
type empty uint64

func (e empty) Method() string     { return "counted" }
func (e empty) TrainedFor() string { return "" }
func (e empty) Policy(*loadline.App) (loadline.Policy, error) {
	return nil, errors.New("it decides nothing")
}
func (e empty) About() policy.About { return policy.About{} }
func (e empty) File([]modelfile.Result) (*modelfile.File, error) {
	return modelfile.New(modelfile.Card{Kind: "test/empty", Training: modelfile.Training{Seed: uint64(e)}}), nil
}

func TestFolderKeepsWhatWasTrained(t *testing.T) {
	times := 0
	on := task(t, "drpc")
	on.Method = counted(&times, nil)
	dir := t.TempDir()
	train := func(change func(*TrainingTask), program string) *Trained {
		t.Helper()
		other := on
		change(&other)
		made, err := folder(t, dir, program).Train(t.Context(), other, nil)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	same := func(*TrainingTask) {}
	first := train(same, "a")
	if again := train(func(x *TrainingTask) { renamed := *x.Load; renamed.Name = "another name"; x.Load = &renamed }, "a"); times != 1 ||
		again.Path() != first.Path() {
		t.Errorf("trained %d times: %s and %s", times, first.Path(), again.Path())
	}
	for name, change := range map[string]func(*TrainingTask){
		"another seed":    func(x *TrainingTask) { x.Seed++ },
		"more steps":      func(x *TrainingTask) { x.Steps++ },
		"another setting": func(x *TrainingTask) { x.Setting = TrainingSettings()[1] },
		"another load":    func(x *TrainingTask) { x.Load, _ = x.Load.Scale(2) },
		"another app":     func(x *TrainingTask) { app := *x.App; app.Nodes = app.Nodes[:1]; x.App = &app },
	} {
		before := times
		if train(change, "a"); times != before+1 {
			t.Errorf("%s: not trained", name)
		}
	}
	before := times
	if train(same, "b"); times != before+1 {
		t.Error("another program's model was taken")
	}
	if err := os.WriteFile(first.Path(), []byte("torn"), 0o644); err != nil {
		t.Fatal(err)
	}
	if train(same, "a"); times != before+2 {
		t.Error("a model that is not what its record says was taken")
	}
}

func TestConcurrentCallsWait(t *testing.T) {
	times, wait := 0, make(chan struct{})
	on := task(t, "drpc")
	on.Method = counted(&times, wait)
	f := folder(t, t.TempDir(), "test")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := f.Train(t.Context(), on, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wait <- struct{}{}
	group.Wait()
	if times != 1 {
		t.Errorf("trained %d times for four concurrent calls", times)
	}
}

func TestTuneChoosesByTheCommonReward(t *testing.T) {
	times := 0
	on := task(t, "drpc")
	on.Method = counted(&times, nil)
	on.Seed = 5
	f := folder(t, t.TempDir(), "test")
	made, err := f.TuneAndTrain(t.Context(), on, 1, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if made.Setting.Rate != 3 || made.Seed != 5 || times != len(TrainingSettings())+1 {
		t.Errorf("%+v after %d trainings", made, times)
	}
	nan := result.Number(math.NaN())
	if best := BestTrained([]*Trained{{Seed: 1, Score: nan}, {Seed: 2, Score: 0.2}, {Seed: 3, Score: 0.2}}); best.Seed != 2 {
		t.Errorf("best is %+v", best)
	}
}

func TestFaults(t *testing.T) {
	times := 0
	on := task(t, "drpc")
	on.Method = counted(&times, nil)
	f := folder(t, t.TempDir(), "test")
	for want, change := range map[string]func(*TrainingTask){
		"steps is 3, must be at least 40": func(x *TrainingTask) { x.Steps = 3 },
		"rate is 0, must be more than 0":  func(x *TrainingTask) { x.Setting = TrainingSetting{} },
		"seed 13: bad luck":               func(x *TrainingTask) { x.Seed = 13 },
		"must be a kind of request of book": func(x *TrainingTask) {
			w := *x.Load
			w.Mix = &workload.Mix{Kinds: []string{"x"}, Step: time.Hour, Shares: []float64{1}}
			x.Load = &w
		},
	} {
		other := on
		change(&other)
		if _, err := f.Train(t.Context(), other, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := OpenModelFolder("a,b", "test"); err == nil || !strings.Contains(err.Error(), "comma") {
		t.Error(err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Train(stopped, task(t, "msars"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("asked to stop: %v", err)
	}
}

func TestProfilesAreMeasuredOnce(t *testing.T) {
	app := task(t, "msars").App
	f := folder(t, t.TempDir(), "test")
	reported := 0
	profiles := func(f *ModelFolder) *profile.Set {
		t.Helper()
		reported = 0
		set, err := f.profiles(t.Context(), app, func(float64) { reported++ })
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	first := profiles(f)
	if reported == 0 || len(first.Profiles) == 0 {
		t.Fatalf("%d profiles after %d measurements", len(first.Profiles), reported)
	}
	if again := profiles(f); reported != 0 || !reflect.DeepEqual(first, again) {
		t.Error("measured again, or not the same")
	}
	files, err := filepath.Glob(filepath.Join(f.dir, "profiles-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if err := os.Truncate(files[0], 100); err != nil {
		t.Fatal(err)
	}
	if again := profiles(f); reported == 0 || !reflect.DeepEqual(first, again) {
		t.Error("torn profiles were taken, or measured to others")
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := folder(t, t.TempDir(), "test").profiles(stopped, app, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("asked to stop: %v", err)
	}
}

// TestMSARSIsMeasuredByDRPCsReward: its own reward is of parts of the SLO, so none of its
// trainer's evaluations may be reported as the common reward.
func TestMSARSIsMeasuredByDRPCsReward(t *testing.T) {
	on := task(t, "msars")
	on.Steps = 120 // so that there are several points
	made, err := folder(t, t.TempDir(), "test").Train(t.Context(), on, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range made.Curve {
		if y := float64(p.CommonReward); p.Steps == 0 || !(y > -1 && y <= 1) {
			t.Errorf("point %d is %+v", i, p)
		}
	}
	if len(made.Evaluations) != 2 || made.Evaluations[0].Policy != "no change" || made.Evaluations[1].Policy != "msars" ||
		made.CommonReward != made.Evaluations[1].CommonReward {
		t.Fatalf("%+v", made)
	}
	for _, x := range made.Evaluations {
		if q := float64(x.QoS); !(q > 0 && q <= 1) {
			t.Errorf("%+v, want R_qos of the users", x)
		}
	}
}
