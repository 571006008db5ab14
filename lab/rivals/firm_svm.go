package rivals

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// SVM is a linear support vector machine: a score above 0 is the positive class. Inputs are
// normalised.
type SVM struct {
	Mean   []float64 `json:"mean"`
	Spread []float64 `json:"spread"`
	Weight []float64 `json:"weight"`
	Bias   float64   `json:"bias"`
}

// Example is a labelled example.
type Example struct {
	Inputs []float64
	Yes    bool
}

// SVMConfig configures the training of an SVM.
type SVMConfig struct {
	Decay float64 // lambda: the weight of the squared norm
	Steps int
}

// DefaultSVM is for a few inputs and a few thousand examples.
func DefaultSVM() SVMConfig { return SVMConfig{Decay: 1e-3, Steps: 20_000} }

// Score is the signed distance of an example from the decision boundary.
func (s *SVM) Score(inputs []float64) float64 {
	sum := s.Bias
	for i, x := range inputs {
		sum += s.Weight[i] * (x - s.Mean[i]) / s.Spread[i]
	}
	return sum
}

// TrainSVM minimises the hinge loss by steps of its subgradient (Pegasos,
// Shalev-Shwartz et al., 2007): a step of 1/(lambda*t) on one example at a time, drawn
// from both classes equally often, since culprits are rare; the result is the mean of the
// second half of the steps. The bias is learned as the weight of a constant.
func TrainSVM(config SVMConfig, examples []Example, rng *rand.Rand) (*SVM, error) {
	var yes, no []int
	for i, e := range examples {
		if e.Yes {
			yes = append(yes, i)
		} else {
			no = append(no, i)
		}
	}
	if len(yes) == 0 || len(no) == 0 {
		return nil, fmt.Errorf("rivals: %d examples of yes and %d of no, must be some of both", len(yes), len(no))
	}
	width := len(examples[0].Inputs)
	s := &SVM{Mean: make([]float64, width), Spread: make([]float64, width), Weight: make([]float64, width)}
	s.normalise(examples)
	// One more weight than inputs: the bias.
	weight, sum, input := make([]float64, width+1), make([]float64, width+1), make([]float64, width+1)
	input[width] = 1
	for t := 1; t <= config.Steps; t++ {
		from, label := no, -1.0
		if t%2 == 0 {
			from, label = yes, 1
		}
		score := weight[width]
		for i, x := range examples[from[rng.IntN(len(from))]].Inputs {
			input[i] = (x - s.Mean[i]) / s.Spread[i]
			score += weight[i] * input[i]
		}
		step := 1 / (config.Decay * float64(t))
		for i := range weight {
			weight[i] *= 1 - step*config.Decay
			if label*score < 1 {
				weight[i] += step * label * input[i]
			}
			if t > config.Steps/2 {
				sum[i] += weight[i]
			}
		}
	}
	counted := float64(config.Steps - config.Steps/2)
	for i := range s.Weight {
		s.Weight[i] = sum[i] / counted
	}
	s.Bias = sum[width] / counted
	return s, nil
}

func (s *SVM) normalise(examples []Example) {
	n := float64(len(examples))
	for i := range s.Mean {
		for _, e := range examples {
			s.Mean[i] += e.Inputs[i] / n
		}
		for _, e := range examples {
			d := e.Inputs[i] - s.Mean[i]
			s.Spread[i] += d * d / n
		}
		if s.Spread[i] = math.Sqrt(s.Spread[i]); s.Spread[i] == 0 {
			s.Spread[i] = 1
		}
	}
}

// Accuracy is the mean of the accuracies of both classes.
func (s *SVM) Accuracy(examples []Example) float64 {
	var right, count [2]float64
	for _, e := range examples {
		of := 0
		if e.Yes {
			of = 1
		}
		count[of]++
		if s.Score(e.Inputs) > 0 == e.Yes {
			right[of]++
		}
	}
	return (right[0]/max(count[0], 1) + right[1]/max(count[1], 1)) / 2
}

func (s *SVM) check() error {
	if len(s.Mean) != LocateWidth || len(s.Spread) != LocateWidth || len(s.Weight) != LocateWidth {
		return fmt.Errorf("its support vector machine has %d weights, must have %d; train it again", len(s.Weight), LocateWidth)
	}
	for i := range s.Weight {
		for _, v := range []float64{s.Mean[i], s.Spread[i], s.Weight[i], s.Bias} {
			if math.IsNaN(v) || math.IsInf(v, 0) || s.Spread[i] == 0 {
				return errors.New("its support vector machine is not finite; train it again")
			}
		}
	}
	return nil
}
