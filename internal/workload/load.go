package workload

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// Forever is the end of the last interval of a load that has ended.
const Forever = time.Duration(math.MaxInt64)

// Load is a workload bound to an application: the rate of each of its kinds of
// requests at any instant. Many simulations may read one at the same time.
type Load struct {
	step     time.Duration
	end      time.Duration
	rates    []float64
	shares   []float64 // per kind, or bin after bin of them; each bin sums to 1
	kinds    int
	mixStep  time.Duration // 0 = the shares are constant
	mixShift time.Duration
	mixBins  int
}

// For binds the workload to an application. A workload with a mix of its own must name kinds
// that the application has; kinds missing from the mix get no requests. Without a mix the
// application's shares apply.
func (w *Workload) For(app *loadline.App) (*Load, error) {
	if err := w.Validate(); err != nil {
		return nil, err
	}
	load := &Load{step: w.Step, end: w.Duration(), rates: w.Rates, kinds: len(app.Kinds)}
	if w.Mix == nil {
		shares := make([]float64, len(app.Kinds))
		for k := range app.Kinds {
			shares[k] = app.Kinds[k].Share
		}
		load.shares = shares
		return load, normalise(shares, app.Name)
	}

	names := make([]string, len(app.Kinds))
	for k := range app.Kinds {
		names[k] = app.Kinds[k].Name
	}
	column := make([]int, len(w.Mix.Kinds))
	faults := newFaults(w.Name)
	for i, kind := range w.Mix.Kinds {
		column[i] = app.KindIndex(kind)
		if column[i] < 0 {
			faults.add(0, "mix", kind, fmt.Sprintf("must be a kind of request of %s: %s%s",
				app.Name, strings.Join(names, ", "), didYouMean(kind, names)))
		}
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	load.mixStep, load.mixShift, load.mixBins = w.Mix.Step, w.Mix.Offset, w.Mix.Bins()
	load.shares = make([]float64, load.mixBins*load.kinds)
	for bin := range load.mixBins {
		from := w.Mix.Shares[bin*len(column) : (bin+1)*len(column)]
		to := load.shares[bin*load.kinds : (bin+1)*load.kinds]
		for i, c := range column {
			to[c] = from[i]
		}
		if err := normalise(to, app.Name); err != nil {
			return nil, err
		}
	}
	return load, nil
}

func normalise(shares []float64, app string) error {
	sum := 0.0
	for _, s := range shares {
		if !(s >= 0) || math.IsInf(s, 0) {
			return fmt.Errorf("a kind of request of %s has share %v: must be a finite number of at least 0", app, s)
		}
		sum += s
	}
	if sum == 0 {
		return fmt.Errorf("no kind of request of %s has a share above 0", app)
	}
	for i := range shares {
		shares[i] /= sum
	}
	return nil
}

// Rate is the rate of one kind of request at an instant, in requests per second, and the
// instant until which it is constant. There is no load before 0 or after the end.
func (l *Load) Rate(kind int, t time.Duration) (perSecond float64, until time.Duration) {
	if t < 0 {
		return 0, 0
	}
	if t >= l.end {
		return 0, Forever
	}
	bin := int(t / l.step)
	until = time.Duration(bin+1) * l.step
	mixBin := 0
	if l.mixStep > 0 {
		mixBin = int((t + l.mixShift) / l.mixStep)
		if mixBin < l.mixBins-1 {
			until = min(until, time.Duration(mixBin+1)*l.mixStep-l.mixShift)
		} else {
			mixBin = l.mixBins - 1
		}
	}
	return l.rates[bin] * l.shares[mixBin*l.kinds+kind], until
}

// Total is the rate of all kinds together at an instant, and the instant until which it is
// constant.
func (l *Load) Total(t time.Duration) (perSecond float64, until time.Duration) {
	if t < 0 {
		return 0, 0
	}
	if t >= l.end {
		return 0, Forever
	}
	bin := int(t / l.step)
	return l.rates[bin], time.Duration(bin+1) * l.step
}

// Duration is when the load ends.
func (l *Load) Duration() time.Duration { return l.end }
