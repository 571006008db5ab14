package papers

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/nn/gemm"
)

func digest(t *testing.T, networks ...formulation.Network) string {
	t.Helper()
	h := sha256.New()
	for _, b := range networks {
		for _, v := range []any{b.Net.Params(), b.Scales} {
			if err := binary.Write(h, binary.LittleEndian, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// TestGoldenAgents: the experiments' networks do not change between versions. A change of a
// digest needs a reason in an ADR.
func TestGoldenAgents(t *testing.T) {
	if gemm.Name() != "avx2" {
		t.Skipf("the digests are of the avx2 kernels, this processor uses %s", gemm.Name())
	}
	shape, err := shapeOf("diurnal:low=0.2,high=1,period=30m", time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		vertical bool
		want     string
	}{"serverless-horizontal": {false, "9eaa6e4cec0267830ee126fd"}, "serverless-vertical": {true, "597b2c06e7fa9b24ef73dc5d"}} {
		setup, err := newFunctionSetup(c.vertical, 1, "adservice")
		if err != nil {
			t.Fatal(err)
		}
		w, err := setup.load("waves", 0.6, shape, nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := setup.train(t.Context(), w, 600, 1, c.vertical)
		if err != nil {
			t.Fatal(err)
		}
		if got := digest(t, m.Networks...); got != c.want {
			t.Errorf("%s: the network has digest %s, recorded is %s", name, got, c.want)
		}
	}
	if got, want := digest(t, goldenElastic(t)), "f0d968a39ea8da6e717868a4"; got != want {
		t.Errorf("elastic-dqn: the network has digest %s, recorded is %s", got, want)
	}
}

func goldenElastic(t *testing.T) formulation.Network {
	t.Helper()
	app, err := appNamed("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	w, err := shapeOf("diurnal:low=20,high=300,period=1h", 4*time.Hour, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := &elasticSetup{app: app}
	if err := s.learnOn(w); err != nil {
		t.Fatal(err)
	}
	problem, err := formulation.NewProblem("elastic-dqn", 0, map[string]float64{"cost": 1})
	if err != nil {
		t.Fatal(err)
	}
	network, err := learning{
		problem: problem, scenarios: s.places, service: formulation.Every, agent: elasticAgent(), steps: 600, episode: 120, seed: 1,
	}.learn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return network
}
