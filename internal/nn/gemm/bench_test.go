package gemm

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

var measuredPeak = sync.OnceValue(func() float64 { return MeasurePeak(time.Now) })

func reportFlops(b *testing.B, flops float64) {
	rate := flops * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate/1e9, "GFLOP/s")
	b.ReportMetric(100*rate/measuredPeak(), "%peak")
}

func BenchmarkPeak(b *testing.B) {
	for b.Loop() {
		active.fmaLoop(10_000)
	}
	b.ReportMetric(10_000*48*8*2*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

func BenchmarkMul(b *testing.B) {
	for _, s := range [][3]int{{64, 64, 8}, {64, 64, 64}, {64, 3, 64}, {256, 64, 64}, {256, 1, 64}, {256, 256, 256}, {128, 128, 128},
		{64, 128, 128}, {32, 256, 256}, {256, 300, 400}, {64, 64, 256}, {32, 96, 32}, {1, 64, 64}, {1, 3, 64}} {
		for _, transposed := range []bool{false, true} {
			kind := "AB"
			if transposed {
				kind = "AtB"
			}
			b.Run(fmt.Sprintf("%s/%dx%dx%d", kind, s[0], s[1], s[2]), func(b *testing.B) {
				rng := newRand(1)
				c, x, y := View(randoms(rng, s[0]*s[1]), s[0], s[1]), View(randoms(rng, s[0]*s[2]), s[0],
					s[2]), View(randoms(rng, s[2]*s[1]), s[2], s[1])
				if transposed {
					x.Rows, x.Cols, x.Stride = s[2], s[0], s[0]
				}
				for b.Loop() {
					if transposed {
						MulTransA(c, x, y, Finish{})
					} else {
						Mul(c, x, y, Finish{})
					}
				}
				reportFlops(b, 2*float64(s[0]*s[1]*s[2]))
			})
		}
	}
}

func BenchmarkTranspose(b *testing.B) {
	for _, n := range []int{64, 256} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			src, dst := View(randoms(newRand(1), n*n), n, n), View(make([]float32, n*n), n, n)
			for b.Loop() {
				Transpose(dst, src)
			}
		})
	}
}

func BenchmarkVector(b *testing.B) {
	const n = 4096
	rng := newRand(1)
	x, y, m, v := randoms(rng, n), randoms(rng, n), make([]float32, n), make([]float32, n)
	for name, call := range map[string]func(){
		"Exp":      func() { Exp(y, x) },
		"Sigmoid":  func() { Sigmoid(y, x) },
		"Tanh":     func() { Tanh(y, x) },
		"ReLUGrad": func() { ReLUGrad(m, x, y) },
		"Lerp":     func() { Lerp(m, x, 0.005) },
		"Adam": func() {
			Adam(y, x, m, v, AdamStep{Keep1: 0.9, Keep2: 0.999, Rate: 1e-3, RootBias2: 1, Epsilon: 1e-8, Decay: 1})
		},
	} {
		b.Run(name, func(b *testing.B) {
			clear(m)
			clear(v)
			for b.Loop() {
				call()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/value")
		})
	}
}

// BenchmarkAdamOfDeadUnits is a step over parameters whose gradients have been
// zero for thousands of steps.
func BenchmarkAdamOfDeadUnits(b *testing.B) {
	const n = 4096
	rng := newRand(1)
	p, g, m, v := randoms(rng, n), make([]float32, n), randoms(rng, n), randoms(rng, n)
	for i := range v {
		v[i] *= v[i] * 1e-36 // squares fade a hundred times more slowly
	}
	step := AdamStep{Keep1: 0.9, Keep2: 0.999, Rate: 1e-3, RootBias2: 1, Epsilon: 1e-8, Decay: 1}
	for range 3_000 {
		Adam(p, g, m, v, step)
	}
	for b.Loop() {
		Adam(p, g, m, v, step)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/value")
}
