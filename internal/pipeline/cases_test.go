package pipeline

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/simulate"
)

// stuckModel is a model whose network prefers one action whatever it sees: the first or the last.
type stuckModel struct {
	policy.Model
	last bool
}

func (m stuckModel) File(results []modelfile.Result) (*modelfile.File, error) {
	file, err := m.Model.File(results)
	if err != nil {
		return nil, err
	}
	for name := range file.Card.Networks {
		net, err := file.Net(name)
		if err != nil {
			return nil, err
		}
		tensors := net.Tensors()
		for _, t := range tensors {
			clear(t.Data)
		}
		output := tensors[len(tensors)-1].Data // its bias
		if m.last {
			output[len(output)-1] = 1
		} else {
			output[0] = 1
		}
		file.Add(name, net)
	}
	return file, nil
}

// stuckRun is a run whose candidate always takes the first or the last action.
func stuckRun(t *testing.T, s *Subject, last bool) *Folder {
	t.Helper()
	candidates := smallLineUp(t, 1)
	f, err := Begin(t.TempDir(), "test", s, candidates, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := TrainEach(context.Background(), s, candidates, Each{Workers: 1, Done: func(done *Trained) error {
		done.Model = stuckModel{done.Model, last}
		return f.Keep(done)
	}}); err != nil {
		t.Fatal(err)
	}
	if f, err = OpenRun(f.Dir); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestABrokenModelIsNotPromoted: behind the guard it is as safe as the rule, and no better.
func TestABrokenModelIsNotPromoted(t *testing.T) {
	if testing.Short() {
		t.Skip("runs two evaluations")
	}
	for _, last := range []bool{false, true} {
		s, err := FromApp(context.Background(), single(), waves(4*time.Hour), Model{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		f := stuckRun(t, s, last)
		e := mustEvaluate(t, f, EvaluationSettings{Today: "hpa:target=70", Stretch: 12 * time.Minute, Workers: 2, NeighboursGiven: true})
		if e.Verdict.Kind != Keep && e.Verdict.Kind != Change {
			t.Errorf("always the last action %v: %s: %s", last, e.Verdict.Kind, e.Verdict.Sentence)
		}
	}
}

// TestAModelOfAReleaseThatIsGoneIsRefused: the twin and the candidates are of the release before,
// so nothing that they show holds for the one that runs.
func TestAModelOfAReleaseThatIsGoneIsRefused(t *testing.T) {
	load, err := waves(6 * time.Hour).For(single())
	if err != nil {
		t.Fatal(err)
	}
	release := sim.VersionChange{CPUFactor: 2}
	h, err := simulate.RecordHistory(context.Background(), simulate.HistorySpec{
		App: single(), Load: load, Policy: "hpa:target=70", Engine: "fluid", Duration: 6 * time.Hour, Seed: 1,
		Perturb: simulate.Perturb{Disturbances: []sim.Disturbance{{At: 5 * time.Hour, Version: &release}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := FromHistory(h, Past{Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Replaced) != 1 || !strings.Contains(s.Replaced[0], "service server: CPU per request") {
		t.Fatalf("replaced: %q", s.Replaced)
	}
	dir := t.TempDir()
	trainInto(t, dir, s, smallLineUp(t, 1))
	f, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	e := mustEvaluate(t, f, EvaluationSettings{})
	if e.Verdict.Kind != Refused || !strings.Contains(e.Verdict.Sentence, "a release that is gone (service server") ||
		!strings.Contains(e.Verdict.Sentence, "--since") {
		t.Errorf("%+v", e.Verdict)
	}
	// The release itself can be judged as soon as there is enough of it; one that hardly changed
	// anything does not matter.
	if s, err = FromHistory(h.Cut(0, h.Steps*3/4), Past{Name: "shop"}); err != nil || len(s.Replaced) != 0 {
		t.Errorf("without the release: %q, %v", s.Replaced, err)
	}
}
