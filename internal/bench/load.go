package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/workload"
)

// Workload is one workload of the comparison. Generated ones are drawn again for every seed, so
// that no conclusion depends on one draw; a trace is fixed.
type Workload struct {
	Name    string // in tables
	Spec    string // generators, a built-in, or a file
	Options workload.Options

	// Past and PastSpec are the length and the generators of the earlier data that settings are
	// calibrated on; zero = those of the runs, with other draws.
	Past     time.Duration
	PastSpec string

	// Trace: the file is in the folder of public traces, and the workload is left out if that
	// is not available.
	Trace bool
	// Test and Validation are the parts of a trace for runs and for calibration; zero: the last
	// fifth and the fifth before it, or all of it if nothing is calibrated.
	Test, Validation Span
	// Peak to which each part is scaled separately; 0 = unscaled.
	Peak float64

	// Given is a workload in memory. Of the fields above only the name is then used.
	Given *Given

	// Of are the workloads of several applications that are joined in one, in their order. Of the
	// fields above only the name is then used.
	Of []Workload
}

// Given is a workload in memory: the load of the runs, and validation data for calibration.
// Stretches with the same validation data share one calibration.
type Given struct {
	Test       *workload.Workload
	Validation []*workload.Workload // the search uses the first; none = nothing can be calibrated
	Begins     []time.Time          // instants at which the validation data begin; none = not known
}

// Span of time from the beginning of a trace.
type Span struct{ From, To time.Duration }

// Hour is the n-th hour of a trace, from 0.
func Hour(n int) Span {
	return Span{time.Duration(n) * time.Hour, time.Duration(n+1) * time.Hour}
}

// Shorter is the workload with another length: of a trace, the beginnings of its parts.
func (w Workload) Shorter(d time.Duration) Workload {
	if len(w.Of) > 0 {
		w.Of = slices.Clone(w.Of)
		for i := range w.Of {
			w.Of[i] = w.Of[i].Shorter(d)
		}
		return w
	}
	if !w.Trace {
		w.Options.Duration, w.Past = d, min(w.Past, d)
		return w
	}
	w.Test.To = min(w.Test.To, w.Test.From+d)
	w.Validation.To = min(w.Validation.To, w.Validation.From+d)
	return w
}

// Seeds of generated validation data, far from those of any test.
const (
	validationSeed  = 900_001
	validationSeeds = 2
)

// longRun is the length from which one draw of validation data is enough.
const longRun = 6 * time.Hour

// validation is the data for calibration: a generated workload drawn with seeds that no test
// has, or the validation part of a trace.
func (o *opened) validation(w Workload) ([]*workload.Workload, error) {
	if w.Given != nil {
		if len(w.Given.Validation) == 0 {
			return nil, errors.New("it comes without data to calibrate on")
		}
		return w.Given.Validation, nil
	}
	var all []*workload.Workload
	for i := range validationSeeds {
		v, err := o.open(w, validationPart, validationSeed+uint64(i))
		if err != nil {
			return nil, err
		}
		all = append(all, v)
		if v.Duration() > longRun {
			break
		}
	}
	return all, nil
}

// Seeds of generated training data and of training itself, far from all others.
const (
	trainingSeed  = 700_001
	trainingSeeds = 1_000
)

// trainingData is the minimum length of generated training data: an hour of a load is too
// little.
const trainingData = 12 * time.Hour

// training is the training data: draws of a generated workload that no test has, concatenated,
// or the part of a trace before its validation part.
func (o *opened) training(w Workload) (*workload.Workload, error) {
	if w.Given != nil {
		return joined(w.Given.Validation)
	}
	if !generated(w.Spec) {
		return o.open(w, trainingPart, 0)
	}
	return o.draws(w, trainingSeed, trainingData)
}

// draws of a generated workload in sequence, of at least a length.
func (o *opened) draws(w Workload, seed uint64, length time.Duration) (*workload.Workload, error) {
	var draws []*workload.Workload
	for d := time.Duration(0); d < length; {
		one, err := o.open(w, wholePart, seed+uint64(len(draws)))
		if err != nil {
			return nil, err
		}
		draws = append(draws, one)
		if d += one.Duration(); one.Mix != nil {
			break // workloads with a mix cannot be joined
		}
	}
	return joined(draws)
}

// joined are stretches in sequence, or the first if they have a mix.
func joined(parts []*workload.Workload) (*workload.Workload, error) {
	if len(parts) == 0 {
		return nil, errors.New("it comes without data to train on")
	}
	for _, p := range parts {
		if p.Mix != nil || p.Step != parts[0].Step {
			return parts[0], nil
		}
	}
	return workload.Concat(parts[0].Name, parts...)
}

// beforeSpan is the day before a span, or as much of it as there is.
func beforeSpan(s Span) Span { return Span{max(0, s.From-24*time.Hour), s.From} }

// generated reports whether a specification names generators instead of a file.
func generated(spec string) bool {
	word := spec
	if i := strings.IndexAny(spec, ":+"); i >= 0 {
		word = spec[:i]
	}
	for _, known := range workload.Known() {
		if known.Group != "format" && known.Name == strings.TrimSpace(word) {
			return true
		}
	}
	return false
}

// part of a workload that is asked for.
type part int

const (
	wholePart part = iota
	testPart
	validationPart
	trainingPart
)

// opened reads and generates workloads, each file once.
type opened struct {
	data  string // folder of public traces
	files map[string]*workload.Workload
}

// errNoTrace: the public traces are not available.
var errNoTrace = errors.New("the trace is not available")

func (o *opened) open(w Workload, which part, seed uint64) (*workload.Workload, error) {
	if w.Given != nil {
		return w.Given.Test, nil
	}
	if generated(w.Spec) {
		spec, options := w.Spec, w.Options
		options.Seed = seed
		if which == validationPart && w.PastSpec != "" {
			spec = w.PastSpec
		}
		if which == validationPart && w.Past > 0 {
			options.Duration = w.Past
		}
		if w.Peak > 0 {
			options.Peak = w.Peak
		}
		made, _, err := workload.Open(spec, options)
		return made, err
	}
	all, err := o.file(w)
	if err != nil || which == wholePart && w.Test == (Span{}) {
		return scaled(all, w.Peak, err)
	}
	span := w.Test
	switch {
	case which == validationPart:
		span = w.Validation
	case which == trainingPart && w.Validation != (Span{}):
		span = beforeSpan(w.Validation)
	case which == trainingPart && w.Test != (Span{}):
		span = beforeSpan(w.Test)
	case which == trainingPart:
		span = Span{}
	}
	if span != (Span{}) {
		cut, err := all.Slice(span.From, span.To)
		return scaled(cut, w.Peak, err)
	}
	parts, err := all.Split(0.6, 0.2, 0.2)
	if err != nil {
		return nil, err
	}
	switch which {
	case trainingPart:
		return scaled(parts[0], w.Peak, nil)
	case validationPart:
		return scaled(parts[1], w.Peak, nil)
	}
	return scaled(parts[2], w.Peak, nil)
}

func scaled(w *workload.Workload, peak float64, err error) (*workload.Workload, error) {
	if err != nil || peak == 0 {
		return w, err
	}
	return w.Peak(peak)
}

func (o *opened) file(w Workload) (*workload.Workload, error) {
	name := w.Spec
	if w.Trace {
		name = filepath.Join(o.data, w.Spec)
		if _, err := os.Stat(name); o.data == "" || errors.Is(err, fs.ErrNotExist) {
			return nil, errNoTrace
		}
	}
	key := fmt.Sprintf("%s %+v", name, w.Options)
	if known, ok := o.files[key]; ok {
		return known, nil
	}
	read, _, err := workload.Open(name, w.Options)
	if err != nil {
		return nil, err
	}
	if o.files == nil {
		o.files = map[string]*workload.Workload{}
	}
	o.files[key] = read
	return read, nil
}
