package workload

import (
	"fmt"
	"math"
	"time"
)

// Scale multiplies every rate.
func (w *Workload) Scale(factor float64) (*Workload, error) {
	if !(factor >= 0) || math.IsInf(factor, 0) {
		return nil, fmt.Errorf("scale %s by %v: must be a finite number of at least 0", w.Name, factor)
	}
	out := *w
	out.Rates = make([]float64, len(w.Rates))
	for i, r := range w.Rates {
		out.Rates[i] = r * factor
		if math.IsInf(out.Rates[i], 0) {
			return nil, fmt.Errorf("scale %s by %v: %v requests/s becomes more than a number can hold", w.Name, factor, r)
		}
	}
	return &out, nil
}

// Peak scales so that the highest bin has that many requests per second.
func (w *Workload) Peak(rps float64) (*Workload, error) {
	if !(rps > 0) || math.IsInf(rps, 0) {
		return nil, fmt.Errorf("peak of %s at %v requests/s: must be a finite number above 0", w.Name, rps)
	}
	highest := w.Max()
	if highest == 0 {
		return nil, fmt.Errorf("peak of %s at %v requests/s: every bin is 0, no factor can raise it", w.Name, rps)
	}
	out := *w
	out.Rates = make([]float64, len(w.Rates))
	for i, r := range w.Rates {
		// Divided first, so that the highest bin is exactly rps and the
		// quotient of two tiny rates does not overflow.
		out.Rates[i] = r / highest * rps
	}
	return &out, nil
}

// Resample returns the workload in bins of another length; each is the mean rate over its time,
// so complete bins preserve the number of requests. An incomplete bin at the end is dropped.
func (w *Workload) Resample(step time.Duration) (*Workload, error) {
	if step <= 0 {
		return nil, fmt.Errorf("resample %s to bins of %v: must be longer than 0", w.Name, step)
	}
	bins := w.Duration() / step
	if bins == 0 {
		return nil, fmt.Errorf("resample %s to bins of %v: must be at most its duration, %v", w.Name, step, w.Duration())
	}
	if bins > maxBins {
		return nil, fmt.Errorf("resample %s to bins of %v: makes %d bins, must be at most %d", w.Name, step, bins, maxBins)
	}
	out := *w
	out.Step = step
	if step == w.Step {
		return &out, nil
	}
	out.Rates = make([]float64, bins)
	for i := range out.Rates {
		out.Rates[i] = w.meanOver(time.Duration(i)*step, time.Duration(i+1)*step)
	}
	return &out, nil
}

func (w *Workload) meanOver(from, to time.Duration) float64 {
	first, last := int(from/w.Step), int((to-1)/w.Step)
	if first == last {
		return w.Rates[first]
	}
	sum := w.Rates[first] * float64(time.Duration(first+1)*w.Step-from)
	for i := first + 1; i < last; i++ {
		sum += w.Rates[i] * float64(w.Step)
	}
	sum += w.Rates[last] * float64(to-time.Duration(last)*w.Step)
	return sum / float64(to-from)
}

// Slice returns the bins that begin in [from, to). Adjacent slices neither share nor lose a
// bin.
func (w *Workload) Slice(from, to time.Duration) (*Workload, error) {
	if from < 0 || to <= from {
		return nil, fmt.Errorf("slice %s from %v to %v: must be from 0 or later to a later instant", w.Name, from, to)
	}
	out := w.bins(w.binFrom(from), w.binFrom(to))
	if len(out.Rates) == 0 {
		return nil, fmt.Errorf("slice %s from %v to %v: no bin begins there; it has bins of %v until %v", w.Name, from, to, w.Step,
			w.Duration())
	}
	return out, nil
}

// binFrom is the first bin that begins at or after an instant.
func (w *Workload) binFrom(t time.Duration) int {
	bin := t / w.Step
	if t%w.Step != 0 {
		bin++
	}
	return int(min(bin, time.Duration(len(w.Rates))))
}

func (w *Workload) bins(from, to int) *Workload {
	out := *w
	out.Rates = w.Rates[from:to:to]
	if w.Mix != nil {
		mix := *w.Mix
		mix.Offset += time.Duration(from) * w.Step
		out.Mix = &mix
	}
	return &out
}

// Split divides by time into training, validation and test parts, in this order: shuffled bins
// would leak the future into training. Fractions must sum to 1; every part that is not 0 gets a
// bin.
func (w *Workload) Split(train, validation, test float64) (parts [3]*Workload, err error) {
	fractions := [3]float64{train, validation, test}
	sum := 0.0
	for _, f := range fractions {
		if !(f >= 0) {
			return parts, fmt.Errorf("split %s into %v, %v and %v: each must be at least 0", w.Name, train, validation, test)
		}
		sum += f
	}
	if math.Abs(sum-1) > 1e-9 {
		return parts, fmt.Errorf("split %s into %v, %v and %v: must sum to 1, not %v", w.Name, train, validation, test, sum)
	}
	bins := float64(len(w.Rates))
	first := int(math.Round(train * bins))
	second := max(first, int(math.Round((train+validation)*bins)))
	cuts := [4]int{0, first, second, len(w.Rates)}
	for i, name := range [3]string{"train", "validation", "test"} {
		parts[i] = w.bins(cuts[i], cuts[i+1])
		parts[i].Name = w.Name + " (" + name + ")"
		if fractions[i] > 0 && len(parts[i].Rates) == 0 {
			return parts, fmt.Errorf("split %s: %v of its %d bins leaves nothing for %s", w.Name, fractions[i], len(w.Rates), name)
		}
	}
	return parts, nil
}

// Concat joins workloads of the same bin length in sequence, such as the days of a trace that
// is published one file per day. Mixes are rejected: their bins need not align.
func Concat(name string, parts ...*Workload) (*Workload, error) {
	if len(parts) == 0 {
		return nil, fmt.Errorf("join %s: must be at least one workload", name)
	}
	out := &Workload{Name: name, Step: parts[0].Step}
	for _, p := range parts {
		if p.Step != out.Step {
			return nil, fmt.Errorf("join %s: %s has bins of %v and %s of %v: must be the same", name, parts[0].Name, out.Step, p.Name,
				p.Step)
		}
		if p.Mix != nil {
			return nil, fmt.Errorf("join %s: %s has a mix of its own: must have none", name, p.Name)
		}
		out.Rates = append(out.Rates, p.Rates...)
	}
	return out, nil
}
