package train_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"hash"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/nn/gemm"
	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/policy/drpc"
	drpctrainer "github.com/loadline/loadline/internal/policy/drpc/trainer"
	"github.com/loadline/loadline/internal/policy/msars"
	msarstrainer "github.com/loadline/loadline/internal/policy/msars/trainer"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/train"
	"github.com/loadline/loadline/internal/workload"
	"github.com/loadline/loadline/lab/rivals"
	rivaltrainer "github.com/loadline/loadline/lab/rivals/trainer"
)

var update = flag.Bool("update", false, "rewrite testdata/golden.txt")

const goldenFile = "testdata/golden.txt"

// TestGolden trains a tiny model of every learned method and compares a digest of
// what was learned with the recorded one: the same seed gives the same weights from
// one version to the next. A change of a digest needs a reason in an ADR.
func TestGolden(t *testing.T) {
	if gemm.Name() != "avx2" {
		t.Skipf("the digests are of the avx2 kernels, this processor uses %s", gemm.Name())
	}
	want := map[string]string{}
	text, err := os.ReadFile(goldenFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, digest, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			want[name] = digest
		}
	}
	got := map[string]string{}
	for name, tiny := range goldenTrainings() {
		h := sha256.New()
		if err := tiny(t, h); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got[name] = hex.EncodeToString(h.Sum(nil)[:12])
		if !*update && got[name] != want[name] {
			t.Errorf("%s: the trained model has digest %s, recorded is %s", name, got[name], want[name])
		}
	}
	if !*update {
		return
	}
	names := make([]string, 0, len(got))
	for name := range got {
		names = append(names, name)
	}
	slices.Sort(names)
	var b bytes.Buffer
	for _, name := range names {
		fmt.Fprintf(&b, "%s %s\n", name, got[name])
	}
	if err := os.WriteFile(goldenFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func goldenTrainings() map[string]func(*testing.T, hash.Hash) error {
	all := map[string]func(*testing.T, hash.Hash) error{
		"drpc-continuous": goldenDRPC(drpc.Continuous), "drpc-discrete": goldenDRPC(drpc.Discrete), "msars": goldenMSARS,
	}
	for _, rival := range rivals.Names() {
		all[string(rival)] = goldenRival(rival)
	}
	for _, name := range formulation.FormulationNames() {
		all["candidate-"+strings.TrimSuffix(name, "-dqn")] = goldenCandidates(name)
	}
	return all
}

func floats(h hash.Hash, values ...any) error {
	for _, v := range values {
		if err := binary.Write(h, binary.LittleEndian, v); err != nil {
			return err
		}
	}
	return nil
}

func goldenScenario(t *testing.T, app, spec string, d time.Duration) train.Scenario {
	t.Helper()
	m, err := apps.Load(app)
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.Parse(spec, d, 15*time.Second, 7)
	if err != nil {
		t.Fatal(err)
	}
	load, err := w.For(m.App)
	if err != nil {
		t.Fatal(err)
	}
	return train.Scenario{App: m.App, Load: load, Duration: w.Duration(), Source: "a test"}
}

// goldenDRPC goes through every phase, forecasts and a call of the notifier included.
func goldenDRPC(kind drpc.Kind) func(*testing.T, hash.Hash) error {
	return func(t *testing.T, h hash.Hash) error {
		c := drpctrainer.Default(kind)
		c.Teacher.Hidden, c.Teacher.WarmUp, c.Teacher.Batch, c.Teacher.Explore.Steps = []int{16}, 40, 8, 100
		c.Episode = 20
		c.Stage1 = drpctrainer.Stage1{Steps: 200, Every: 50, Episodes: 1, Patience: 2, Gain: 0.01, Imitation: 0.3, Refresh: 40}
		c.Distil = drpctrainer.Distillation{Episodes: 4, Batches: 30}
		c.Stage2.Steps = 60
		c.Notifier = drpc.NotifierConfig{Rewards: 30, Threshold: 2}
		s := goldenScenario(t, "bookinfo", "diurnal:low=20,high=100,period=2h", 3*time.Hour)
		m, report, err := drpctrainer.Run(t.Context(), s, c, drpctrainer.Hooks{})
		if err != nil {
			return err
		}
		err = floats(h, m.Teacher.Params(), int64(report.Plateau), int64(m.Training.Samples), int64(len(report.Curve)))
		for _, student := range m.Students {
			err = floats(h, student.Params())
		}
		for _, p := range report.Curve {
			err = floats(h, int64(p.Steps), int64(p.Episodes), p.Explored, p.Loss, p.Evaluation, p.QoS, p.Imitation)
		}
		for _, r := range report.Results {
			err = floats(h, r.Reward, r.QoS, r.CPU, r.Memory)
		}
		return err
	}
}

func goldenMSARS(t *testing.T, h hash.Hash) error {
	c := msarstrainer.Default("parslo")
	c.Agent.Hidden, c.Agent.WarmUp, c.Agent.Batch, c.Agent.Explore.Steps = []int{16}, 40, 8, 100
	c.Episode, c.Most, c.Every, c.Episodes, c.Patience, c.Gain = 20, 300, 50, 1, 3, 0.05
	c.Adjust = msarstrainer.Adjust{}
	s := goldenScenario(t, "single", "diurnal:low=40,high=400,period=1h", 3*time.Hour)
	// Profiles that are made up: measuring them is not training.
	known := &profile.Set{App: s.App.Name}
	for _, way := range []string{msars.None, "parslo"} {
		c.Way = way
		m, report, err := msarstrainer.Run(t.Context(), s, known, c,
			msarstrainer.Hooks{Profiles: func(set *profile.Set) error { known = set; return nil }})
		if err != nil {
			return err
		}
		if err := floats(h, m.Actor.Params(), int64(report.Plateau), int64(m.Training.Samples), int64(len(report.Curve))); err != nil {
			return err
		}
		for _, p := range report.Curve {
			if err := floats(h, int64(p.Steps), int64(p.Episodes), p.Loss, p.Evaluation, p.QoS, p.Users, p.CommonReward); err != nil {
				return err
			}
		}
	}
	return nil
}

func goldenRival(rival rivals.Name) func(*testing.T, hash.Hash) error {
	return func(t *testing.T, h hash.Hash) error {
		c := rivaltrainer.Default(rival)
		c.Steps, c.Every, c.Episodes, c.Episode = 300, 70, 1, 20
		c.DDPG.WarmUp, c.DDPG.Batch, c.DDPG.Hidden, c.SVM.Steps = 60, 16, []int{40, 40}, 100
		s := goldenScenario(t, "bookinfo", "diurnal:low=20,high=200,period=2h", 12*time.Hour)
		m, report, err := rivaltrainer.Run(t.Context(), rival, s, c, rivaltrainer.Hooks{})
		if err != nil {
			return err
		}
		if err := floats(h, m.Table.Values, m.Table.Tried, int64(m.Training.Samples), report.Episodes); err != nil {
			return err
		}
		for _, net := range m.Actors {
			if err := floats(h, net.Params()); err != nil {
				return err
			}
		}
		for _, p := range report.Curve {
			if err := floats(h, int64(p.Steps), int64(p.Episodes), p.Explored, p.Loss, p.Evaluation, p.QoS, p.CommonReward); err != nil {
				return err
			}
		}
		return nil
	}
}

// goldenCandidates trains the first two candidates of a formulation.
func goldenCandidates(name string) func(*testing.T, hash.Hash) error {
	return func(t *testing.T, h hash.Hash) error {
		m, err := apps.Load("bookinfo")
		if err != nil {
			return err
		}
		w, err := workload.Parse("diurnal:low=40,high=180,period=1h,peak=20m+noise:cv=0.05", 3*time.Hour, 15*time.Second, 1)
		if err != nil {
			return err
		}
		subject, err := pipeline.FromApp(context.Background(), bounded(m.App), w, pipeline.Model{Seed: 1})
		if err != nil {
			return err
		}
		candidates, err := pipeline.LineUp([]string{name}, 2, 1)
		if err != nil {
			return err
		}
		for i := range candidates {
			candidates[i].Steps = 500
			var v policy.DQNVariant
			if err := json.Unmarshal(candidates[i].Settings, &v); err != nil {
				return err
			}
			v.Agent.Hidden, v.Agent.Batch = []int{8}, 8
			if candidates[i].Settings, err = json.Marshal(v); err != nil {
				return err
			}
		}
		trained, err := pipeline.TrainAll(context.Background(), subject, candidates, 1, nil)
		if err != nil {
			return err
		}
		for _, one := range trained {
			model, err := policy.Formulated(one.Model)
			if err != nil {
				return err
			}
			for i, network := range model.Networks {
				if err := floats(h, network.Net.Params(), network.Scales); err != nil {
					return err
				}
				for _, p := range one.Curves[i].Points {
					if err := floats(h, int64(p.Steps), int64(p.Episodes), p.Return, p.Loss, p.Evaluation); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
}

// bounded allows a service at most ten replicas, so that episodes stay cheap.
func bounded(app *loadline.App) *loadline.App {
	for i := range app.Services {
		app.Services[i].Bounds.MaxReplicas = min(app.Services[i].Bounds.MaxReplicas, 10)
	}
	return app
}
