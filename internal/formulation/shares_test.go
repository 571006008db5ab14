package formulation

import (
	"bytes"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/nn"
)

func someShares() *Shares {
	return &Shares{App: "chain", Way: "parslo", Rate: 50, Services: []Share{{"front", 99, 0.3}, {"store", 99, 0.24}}}
}

func TestSharesTakeThePlaceOfProportions(t *testing.T) {
	app := chain()
	s := busy(app)
	proportional := NewTopology(app)
	with := proportional.With(someShares())
	if got := with.Services[1].Budget; got != (loadline.SLO{Percentile: 99, Latency: 240 * time.Millisecond}) {
		t.Errorf("the store's budget is %v", got)
	}
	if proportional.Services[1].Budget.Latency != 400*time.Millisecond || proportional.With(nil) != proportional {
		t.Error("the topology itself was changed")
	}
	if with.Services[2].Budget != proportional.Services[2].Budget || with.Services[1].CPU != 0.04 {
		t.Error("what the shares do not speak of must stay")
	}
	sight, err := NewFeatureSet("latency", "latency_p50", "latency_p99", "load")
	if err != nil {
		t.Fatal(err)
	}
	before, _ := sight.Append(proportional, s, 1, nil)
	after, _ := sight.Append(with, s, 1, nil)
	for i, want := range []float64{400. / 240, 400. / 240, 400. / 240, 1} {
		if got := float64(after[i] / before[i]); math.Abs(got-want) > 1e-6 {
			t.Errorf("feature %d is %v times what it was, want %v", i, got, want)
		}
	}
	problem, err := NewProblem("elastic-dqn", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	paid := Spend{Replicas: 3}
	if less, more := problem.Reward(with, s, 1, paid), problem.Reward(proportional, s, 1, paid); !(less < more) {
		t.Errorf("a tighter share must make the same latency worth less: %v and %v", less, more)
	}
}

// TestModelsRememberTheirShares: whatever others are given at work, a policy sees what
// it saw in training.
func TestModelsRememberTheirShares(t *testing.T) {
	app := chain()
	problem, err := NewProblem("elastic-dqn", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	problem.Shares = someShares()
	features := len(problem.Form().Features)
	net, err := nn.MLP{Inputs: []int{features}, Hidden: []int{8}, Outputs: len(problem.Form().Moves)}.Design().Build(nn.PyTorchUniform,
		rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	scales := make([]Scale, features)
	for i := range scales {
		scales[i] = Scale{0, 1}
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := (&Model{Problem: problem, Networks: []Network{{Service: Every, Scales: scales, Net: net}}}).Write(path); err != nil {
		t.Fatal(err)
	}
	m, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m.Problem.Shares, someShares()) {
		t.Fatalf("the file holds %+v", m.Problem.Shares)
	}
	p, err := NewPolicy(m, app)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Partial()[1].Latency; got != 240*time.Millisecond {
		t.Errorf("at work the store's budget is %v", got)
	}
	s := busy(app)
	s.PartialSLO = make([]loadline.SLO, 3)
	s.PartialSLO[1] = loadline.SLO{Percentile: 99, Latency: time.Millisecond} // by the loop's split
	loop.Prepare(p, noon, &s)
	proposal, err := p.Decide(noon, s)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.PartialSLO, p.Partial()) {
		t.Errorf("the policy decided by %v, it was trained with %v", s.PartialSLO, p.Partial())
	}
	if !strings.Contains(proposal.Services[0].Reason, "mean latency at 42 % of its part of the SLO") {
		t.Errorf("a mean of 100 ms over 240 ms is not in %q", proposal.Services[0].Reason)
	}
}

func TestSharesAsAFile(t *testing.T) {
	var file bytes.Buffer
	if err := someShares().Write(&file); err != nil {
		t.Fatal(err)
	}
	got, err := ReadShares(&file, "shares.json")
	if err != nil || !reflect.DeepEqual(got, someShares()) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"nothing", `{"app":"a","services":[]}`, "services is empty"},
		{"another file", `{"profiles":[]}`, "holds no shares as loadline slo split --out writes them"},
		{"a share of nothing", `{"services":[{"service":"a","percentile":99,"with_calls_seconds":0}]}`, "services[0], a: p99 within 0 s"},
		{"a percentile of 100", `{"services":[{"service":"a","percentile":100,"with_calls_seconds":1}]}`, "must be between 0 and 100"},
		{"twice", `{"services":[{"service":"a","percentile":9,"with_calls_seconds":1},{"service":"a","percentile":9,"with_calls_seconds":1}]}`, "services[1], a, has a share already"},
	} {
		if _, err := ReadShares(strings.NewReader(c.text), "f.json"); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "f.json") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	other := someShares()
	other.Services[1].Service = "stor"
	if err := other.For(chain()); err == nil || !strings.Contains(err.Error(), `did you mean "store"`) {
		t.Errorf("%v", err)
	}
}
