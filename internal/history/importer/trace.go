package importer

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/workload"
)

// readTrace reads one of the trace formats. Request rates become the rate of one service, and
// by kind the calls of users to it; utilisation becomes its CPU. A bin's value is of the step
// that ends with the bin. A gap is absent, unless configured otherwise.
func readTrace(r io.Reader, name string, o Options) (*sheet, error) {
	if o.Trace.Gaps == workload.GapsRefuse {
		o.Trace.Gaps = workload.GapsAbsent
	}
	series, err := workload.ReadSeries(r, name, o.Trace)
	if err != nil {
		return nil, err
	}
	if series.Step%time.Millisecond != 0 {
		return nil, workload.Fault{File: name, Field: "step", Value: series.Step.String(), Want: "must be whole milliseconds"}
	}
	s := &sheet{file: name}
	service := &run{file: name, names: [3]string{o.Service}}
	s.runs = append(s.runs, service)
	factor, metric := 1.0, history.Rate
	switch series.Unit {
	case workload.Utilisation:
		metric, factor = history.CPU, max(o.Cores, 0)
		if o.Cores == 0 {
			factor = 1
			s.notes = append(s.notes, name+": utilisation was taken of one core; say --cores for more")
		}
	case workload.Normalised:
		if o.Trace.Peak == 0 {
			return nil, workload.Fault{File: name, Field: "peak", Want: "must be given: format " + series.Report.Format +
				" holds rates divided by an unpublished constant; pass the requests per second of the highest bin by --peak"}
		}
	}
	if metric == history.Rate {
		factor = scale(series.Values, o.Trace)
	}
	end := func(bin int) int64 {
		return o.start().Add(series.Start + time.Duration(bin+1)*series.Step).UnixMilli()
	}
	absent := 0
	for bin, v := range series.Values {
		if math.IsNaN(v) {
			absent++
			continue
		}
		service.points = append(service.points, point{end(bin), float32(v * factor), int32(metric), 0})
	}
	if m := series.Mix; m != nil && metric == history.Rate {
		s.runs = append(s.runs, kinds(series, name, o, factor, end)...)
	}
	if absent > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s: %d of %d steps have no reading and are absent", name, absent, len(series.Values)))
	}
	if r := series.Report; r.Missing+r.Bad+r.Filled > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s: %d of %d rows without a reading, %d faulty rows left out, %d gaps filled", name,
			r.Missing, r.Rows, r.Bad, r.Filled))
	}
	return s, nil
}

// scale is the factor on every rate.
func scale(values []float64, o workload.Options) float64 {
	top := 0.0
	for _, v := range values {
		if v > top { // absent is not
			top = v
		}
	}
	switch {
	case o.Peak > 0 && top > 0:
		return o.Peak / top
	case o.Scale > 0:
		return o.Scale
	}
	return 1
}

// kinds are the requests of users, by kind.
func kinds(series *workload.Series, name string, o Options, factor float64, end func(int) int64) []*run {
	runs := make([]*run, len(series.Mix.Kinds))
	for k, kind := range series.Mix.Kinds {
		runs[k] = &run{file: name, ofCalls: true, names: [3]string{"", o.Service, kind}}
	}
	for bin, v := range series.Values {
		if math.IsNaN(v) {
			continue
		}
		shares := series.Mix.At(time.Duration(bin) * series.Step)
		sum := 0.0
		for _, share := range shares {
			sum += share
		}
		for k, share := range shares {
			runs[k].points = append(runs[k].points, point{end(bin), float32(v * factor * share / sum), int32(history.CallRate), 0})
		}
	}
	return runs
}
