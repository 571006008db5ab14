package workload

import (
	"fmt"
	"math"
	"time"
)

// Workload is the rate of user requests, in bins of equal length. It is immutable: methods that
// reshape it return a new one, which may share memory with it.
type Workload struct {
	Name  string
	Step  time.Duration // length of a bin
	Rates []float64     // requests per second, all kinds together, one per bin
	Mix   *Mix          // nil = the application's own shares
}

// Mix is how the requests divide among kinds over time. It has its own bins, usually longer
// than the workload's, since shares move slowly.
type Mix struct {
	Kinds  []string
	Step   time.Duration
	Offset time.Duration // into the mix, at which the workload begins
	Shares []float64     // bin after bin, each one share per kind; they need not sum to 1
}

// Bins is how many bins the mix has.
func (m *Mix) Bins() int { return len(m.Shares) / len(m.Kinds) }

// At returns the shares at an instant of the workload, constant before the first and after the
// last bin. The slice belongs to the mix.
func (m *Mix) At(t time.Duration) []float64 {
	bin := min(max(int((t+m.Offset)/m.Step), 0), m.Bins()-1)
	return m.Shares[bin*len(m.Kinds) : (bin+1)*len(m.Kinds)]
}

// Duration is the time that the workload covers.
func (w *Workload) Duration() time.Duration {
	return time.Duration(len(w.Rates)) * w.Step
}

// Max is the highest rate of any bin.
func (w *Workload) Max() float64 {
	highest := 0.0
	for _, r := range w.Rates {
		highest = max(highest, r)
	}
	return highest
}

// Requests is the expected number of requests in the whole workload.
func (w *Workload) Requests() float64 {
	sum := 0.0
	for _, r := range w.Rates {
		sum += r
	}
	return sum * w.Step.Seconds()
}

// Mean is the average rate, in requests per second.
func (w *Workload) Mean() float64 {
	if len(w.Rates) == 0 {
		return 0
	}
	return w.Requests() / w.Duration().Seconds()
}

// Validate returns every fault of a workload that was built by hand, as [Faults]. Workloads
// returned by this package have none.
func (w *Workload) Validate() error {
	faults := newFaults(w.Name)
	if w.Step <= 0 {
		faults.add(0, "step", w.Step.String(), "must be longer than 0")
	}
	if len(w.Rates) == 0 {
		faults.add(0, "rates", "", "must hold at least one bin")
	}
	if w.Step > 0 && int64(len(w.Rates)) > math.MaxInt64/int64(w.Step) {
		faults.add(0, "rates", fmt.Sprint(len(w.Rates)), "must cover less than 292 years")
	}
	for i, r := range w.Rates {
		if !(r >= 0) || math.IsInf(r, 0) {
			faults.add(0, fmt.Sprintf("rates[%d]", i), fmt.Sprint(r), "must be a finite number of at least 0")
		}
	}
	if w.Mix != nil {
		w.Mix.validate(faults)
	}
	return faults.err()
}

func (m *Mix) validate(faults *Faults) {
	if m.Step <= 0 {
		faults.add(0, "mix step", m.Step.String(), "must be longer than 0")
	}
	if m.Offset < 0 {
		faults.add(0, "mix offset", m.Offset.String(), "must be at least 0")
	}
	if len(m.Kinds) == 0 || len(m.Shares) == 0 || len(m.Shares)%len(m.Kinds) != 0 {
		faults.add(0, "mix shares", fmt.Sprint(len(m.Shares)),
			fmt.Sprintf("must hold one share for each of the %d kinds, bin after bin", len(m.Kinds)))
		return
	}
	for i, kind := range m.Kinds {
		for j := range i {
			if m.Kinds[j] == kind {
				faults.add(0, "mix kinds", kind, "must be named once")
			}
		}
	}
	for bin := range m.Bins() {
		sum := 0.0
		for k, share := range m.Shares[bin*len(m.Kinds) : (bin+1)*len(m.Kinds)] {
			if !(share >= 0) || math.IsInf(share, 0) {
				faults.add(0, fmt.Sprintf("mix share of %s in bin %d", m.Kinds[k], bin), fmt.Sprint(share),
					"must be a finite number of at least 0")
			}
			sum += share
		}
		if sum == 0 {
			faults.add(0, fmt.Sprintf("mix bin %d", bin), "0", "must have a share above 0")
		}
	}
}
