package cli

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/cli"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/internal/workload"
)

// forecastSource is the source of the series: a generator, a table with gaps, or any trace that
// workload reads.
type forecastSource struct {
	name    string
	columns []string
	period  time.Duration
	step    time.Duration
	gaps    string
	combine string
	options workload.Options
}

func (s *forecastSource) add(f *pflag.FlagSet) {
	f.StringVar(&s.name, "workload", "", "built-in workload, generators, or a file of requests or utilisation")
	f.StringSliceVar(&s.columns, "column", nil, "columns of a CSV file; the first is the one to forecast, the others help the GRU")
	f.DurationVar(&s.step, "step", 0, "length of the bins; default: a minute, or that of the file if it is longer")
	f.DurationVar(&s.period, "period", 0, "time between the rows of a CSV file without t_s")
	cli.LengthVar(f, &s.options.Duration, "duration", "how long, for generators; default: eight days")
	f.StringVar(&s.options.Format, "format", "", "layout of a trace file, if it is not recognised (see workload list)")
	f.StringVar(&s.options.Select, "select", "", "rows of a trace file: an id, or column=value,...")
	f.StringVar(&s.options.Metric, "metric", "", "reading of a trace file, where it has several")
	f.StringVar(&s.combine, "combine", "", "how selected rows of one instant become one value: sum or mean")
	f.StringVar(&s.gaps, "gaps", "", "what a time without rows is in a trace file that is not a CSV table: hold or zero")
	f.BoolVar(&s.options.SkipBad, "skip-bad", false, "leave out faulty rows of a trace file")
}

func (s *forecastSource) open(seed uint64) (forecast.Frame, error) {
	file, err := os.Open(s.name)
	if errors.Is(err, fs.ErrNotExist) {
		return s.generate(seed)
	}
	if err != nil {
		return forecast.Frame{}, err
	}
	defer file.Close()
	trace := s.options.Format != "" || s.options.Select != "" || s.options.Metric != "" || s.gaps != "" || s.combine != ""
	if trace && len(s.columns) == 0 {
		return s.readSeries(file)
	}
	frame, err := s.readTable(file)
	if len(s.columns) > 0 || s.period > 0 || !errors.Is(err, forecast.ErrNotTable) {
		return frame, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return frame, err
	}
	return s.readSeries(file)
}

func (s *forecastSource) readTable(file *os.File) (forecast.Frame, error) {
	frame, err := forecast.ReadTable(file, s.name, forecast.TableOptions{Columns: s.columns, Period: s.period})
	if err != nil {
		return frame, err
	}
	step := s.step
	if step == 0 {
		step = frame.Step
		if step < time.Minute && time.Minute%step == 0 {
			step = time.Minute
		}
	}
	return frame.Resample(step)
}

// readSeries reads a trace in its own unit: utilisation stays utilisation.
func (s *forecastSource) readSeries(file *os.File) (forecast.Frame, error) {
	o := s.options
	o.Step, o.Gaps, o.Combine, o.Duration = s.step, workload.Gaps(s.gaps), workload.Combine(s.combine), 0
	series, err := workload.ReadSeries(file, s.name, o)
	if err != nil {
		return forecast.Frame{}, err
	}
	return forecast.NewFrame(series.Unit.String(), time.Unix(0, 0).UTC().Add(series.Start), series.Step, series.Values), nil
}

// generate makes a workload from its name.
func (s *forecastSource) generate(seed uint64) (forecast.Frame, error) {
	if len(s.columns) > 0 {
		return forecast.Frame{}, cli.Usagef("--workload %s must be a file that exists: --column names columns of a file", s.name)
	}
	o := s.options
	o.Seed = seed
	if o.Duration == 0 {
		o.Duration = 8 * 24 * time.Hour
	}
	w, _, err := workload.Open(s.name, o)
	if err != nil {
		return forecast.Frame{}, cli.UsageError(err)
	}
	step := s.step
	if step == 0 {
		step = max(w.Step, time.Minute)
	}
	if w, err = w.Resample(step); err != nil {
		return forecast.Frame{}, err
	}
	return forecast.NewFrame("requests/s", time.Unix(0, 0).UTC(), w.Step, w.Rates), nil
}

// check reports invalid flags before a file is read, and adds the naive models.
func (e *forecastEval) check() error {
	switch {
	case e.source.name == "":
		return cli.Usagef("--workload must be given: a built-in workload, generators, or a file")
	case e.part != "test" && e.part != "validation":
		return cli.Usagef("--part is %q, and must be test or validation", e.part)
	case !(e.train > 0) || !(e.validation > 0) || !(e.train+e.validation < 1):
		return cli.Usagef("--train %v and --validation %v must be above 0 and leave something to test", e.train, e.validation)
	case len(e.horizons) == 0:
		return cli.Usagef("--horizons must name at least one time ahead")
	case e.season < 0 || e.refit < 0 || e.source.step < 0 || e.source.period < 0:
		return cli.Usagef("--season, --refit, --step and --period must not be below 0")
	}
	for _, m := range e.models {
		if !slices.Contains(forecast.Names, m) {
			return cli.Usagef("--model: there is no %q%s", m, suggest.Hint(m, forecast.Names))
		}
	}
	naive := []string{"persistence"}
	if e.season > 0 {
		naive = append(naive, "seasonal")
	}
	for _, m := range e.models {
		if !slices.Contains(naive, m) && !(m == "seasonal" && e.season == 0) {
			naive = append(naive, m)
		}
	}
	e.models = naive
	if (e.save != "" || e.log != "") && !slices.Contains(e.models, "gru") {
		return cli.Usagef("--save and --log write the GRU and how it learned: it must be among --model")
	}
	for flag, path := range map[string]string{"svg": e.svg, "story": e.story, "save": e.save, "log": e.log} {
		if err := cli.CheckWritable(flag, path); err != nil {
			return err
		}
	}
	return nil
}

// plan turns times into bins.
func (e *forecastEval) plan(frame forecast.Frame) (forecast.Plan, error) {
	p := forecast.Plan{Task: forecast.Task{Levels: forecast.DefaultLevels}}
	whole := func(flag string, d time.Duration) (int, error) {
		if d%frame.Step != 0 {
			return 0, cli.Usagef("--%s %v must be a multiple of the step, %v", flag, d, frame.Step)
		}
		return int(d / frame.Step), nil
	}
	horizons := slices.Clone(e.horizons)
	slices.Sort(horizons)
	for _, d := range slices.Compact(horizons) {
		steps, err := whole("horizons", d)
		if err != nil {
			return p, err
		}
		p.Task.Horizons = append(p.Task.Horizons, steps)
	}
	var err error
	if p.Task.Season, err = whole("season", e.season); err != nil {
		return p, err
	}
	if p.Refit, err = whole("refit", e.refit); err != nil {
		return p, err
	}
	share := func(of float64) int { return int(math.Round(of * float64(frame.Bins()))) }
	p.From, p.To = share(e.train+e.validation), frame.Bins()
	if e.part == "validation" {
		p.From, p.To = share(e.train), p.From
	}
	return p, p.Task.Validate()
}
