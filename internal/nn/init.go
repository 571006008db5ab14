package nn

import (
	"math"
	"math/rand/v2"
)

// Init draws the initial weights of a dense layer.
type Init int

// The initialisations. All but PyTorchUniform start biases at zero.
const (
	PyTorchUniform Init = iota // weights and biases uniform within 1/sqrt(inputs), as torch.nn.Linear
	HeUniform                  // variance 2/inputs, for ReLU (He et al., 2015)
	HeNormal
	XavierUniform // variance 2/(inputs+outputs), for tanh (Glorot and Bengio, 2010)
)

func uniform(values []float32, bound float64, rng *rand.Rand) {
	for i := range values {
		values[i] = float32((2*rng.Float64() - 1) * bound)
	}
}

func (in Init) dense(weight, bias []float32, inputs, outputs int, rng *rand.Rand) {
	clear(bias)
	switch in {
	case HeUniform:
		uniform(weight, math.Sqrt(6/float64(inputs)), rng)
	case XavierUniform:
		uniform(weight, math.Sqrt(6/float64(inputs+outputs)), rng)
	case HeNormal:
		for i := range weight {
			weight[i] = float32(rng.NormFloat64() * math.Sqrt(2/float64(inputs)))
		}
	default:
		bound := 1 / math.Sqrt(float64(inputs))
		uniform(weight, bound, rng)
		uniform(bias, bound, rng)
	}
}
