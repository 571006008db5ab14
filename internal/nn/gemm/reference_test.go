package gemm

import (
	"math"
	"math/rand/v2"
	"testing"
)

// onBothKernels runs a test once per set of kernels.
func onBothKernels(t *testing.T, test func(t *testing.T)) {
	for _, plain := range []bool{true, false} {
		restore := UsePortable(plain)
		t.Run(Name(), test)
		restore()
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x10ad)) }

func randoms(rng *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(rng.NormFloat64())
	}
	return out
}

// guarded is a slice of n random values between marker values in memory, so that a write beyond
// the end is detected.
type guarded struct {
	values []float32
	whole  []float32
}

const fence = float32(12345.678)

func newGuarded(rng *rand.Rand, n int) guarded {
	whole := randoms(rng, n+32)
	for i := range 16 {
		whole[i], whole[n+16+i] = fence, fence
	}
	return guarded{whole[16 : n+16 : n+16], whole}
}

func (g guarded) intact(t *testing.T) {
	t.Helper()
	n := len(g.values)
	for i := range 16 {
		if g.whole[i] != fence || g.whole[n+16+i] != fence {
			t.Fatalf("a kernel wrote outside its %d values", n)
		}
	}
}

func agree(t *testing.T, what string, got float32, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(float64(got)) != math.IsNaN(want) || math.Abs(float64(got)-want) > tolerance*(1+math.Abs(want)) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}
