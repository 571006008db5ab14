package validate

import "math"

// trivial predicts from the rate alone.
type trivial struct {
	points, logs   line
	mean           float64
	base, slope    float64
	logBase, logSl float64
}

func (t *trivial) add(rate, value float64) {
	t.points.add(rate, value)
	t.logs.add(rate, math.Log(max(value, 1e-6)))
}

// settle computes the lines after all points were added.
func (t *trivial) settle() {
	t.mean = mean(t.points.y)
	t.base, t.slope = t.points.leastSquares()
	t.logBase, t.logSl = t.logs.leastSquares()
}

func (t *trivial) predict(rate float64) [3]float64 {
	return [3]float64{t.mean, t.base + t.slope*rate, math.Exp(t.logBase + t.logSl*rate)}
}

// trivialFaaS are the trivial predictors of functions, by machine and function.
type trivialFaaS struct{ cpu, latency map[string]*trivial }

// key: the trivial predictors are given the function and the machine.
func (trivialFaaS) key(s *faasSample, f *faasFunction) string { return s.Class + "/" + f.Name }

func fitTrivialFaaS(samples []faasSample) trivialFaaS {
	t := trivialFaaS{map[string]*trivial{}, map[string]*trivial{}}
	for i := range samples {
		s := &samples[i]
		for j := range s.Functions {
			f := &s.Functions[j]
			for _, k := range []string{t.key(s, f), f.Name} {
				if t.cpu[k] == nil {
					t.cpu[k], t.latency[k] = &trivial{}, &trivial{}
				}
				t.cpu[k].add(f.Rate, f.Cores)
				t.latency[k].add(f.Rate, f.LatencyMs)
			}
		}
	}
	for k := range t.cpu {
		t.cpu[k].settle()
		t.latency[k].settle()
	}
	return t
}

// of falls back to all machines for a function without a fitted file on this one.
func (t trivialFaaS) of(values map[string]*trivial, s *faasSample, f *faasFunction) [3]float64 {
	p := values[t.key(s, f)]
	if p == nil {
		p = values[f.Name]
	}
	return p.predict(f.Rate)
}
