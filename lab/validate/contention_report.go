package validate

import (
	"fmt"
	"io"
)

// The required accuracy, in the median over runs that were not fitted.
const (
	askedCPU       = 0.05
	askedTail      = 0.20
	askedThrottled = 0.05
)

// ContentionReport compares both engines with real servers that compete for CPU.
type ContentionReport struct {
	Seeds    int                 `json:"seeds"`
	Overhead map[string]Overhead `json:"overhead"` // by measured program
	Engines  []ContentionEngine  `json:"engines"`
	// Charged is the event engine with each run's CPU per request by the kernel's accounting in
	// place of demand and overhead: of all servers under a quota. Nothing is fitted.
	Charged ContentionErrors `json:"charged"`
	// Chance is the error of one run of the event engine against its median: what a perfect
	// model would show on the held-out runs, and on those with a load above 80 %.
	Chance     ContentionErrors `json:"chance"`
	ChanceBusy ContentionErrors `json:"chance_busy"`

	Rows []ContentionRow `json:"rows"`
}

// ContentionEngine has the errors of one engine.
type ContentionEngine struct {
	Engine  string           `json:"engine"`
	Fitted  ContentionErrors `json:"fitted"`
	HeldOut ContentionErrors `json:"held_out"`
	// Busy is the part of HeldOut with a load above 80 %.
	Busy ContentionErrors `json:"busy"`
}

// Met tells whether the goals are met on the runs that were not fitted.
func (e *ContentionEngine) Met() (cpu, tail, throttled bool) {
	h := &e.HeldOut
	return h.CPU.Median <= askedCPU, h.P99.Median <= askedTail, h.Throttled.Median <= askedThrottled
}

// ContentionErrors of each figure, over servers.
type ContentionErrors struct {
	CPU       Errors `json:"cpu"`
	Mean      Errors `json:"mean"`
	P99       Errors `json:"p99"`
	Periods   Errors `json:"periods"`
	Throttled Errors `json:"throttled"`
}

func (e ContentionErrors) sum() float64 {
	return e.CPU.Median + e.Mean.Median + e.P99.Median + e.Throttled.Median
}

// ContentionRow is one server of one run: measured, then by each engine.
type ContentionRow struct {
	Run       string     `json:"run"`
	Server    string     `json:"server"`
	HeldOut   bool       `json:"held_out"`
	Load      float64    `json:"load"`
	CPU       [3]float64 `json:"cpu_s"`
	MeanMs    [3]float64 `json:"mean_ms"`
	P99Ms     [3]float64 `json:"p99_ms"`
	Range     [2]float64 `json:"p99_range_ms"` // central 95 % of the event engine's runs
	Periods   [3]float64 `json:"periods"`
	Throttled [3]float64 `json:"throttled"`
}

// contentionPairs collects predictions and measurements.
type contentionPairs struct{ cpu, mean, p99, periods, throttled pairs }

// throttledKnown: of fewer throttled periods the number is chance.
const throttledKnown = 10

func (p *contentionPairs) add(s *contender, predicted outcome) {
	p.cpu.add(predicted.CPUSeconds, s.measured.CPUSeconds)
	p.mean.add(predicted.MeanMs, s.measured.MeanMs)
	if s.tailKnown() {
		p.p99.add(predicted.P99Ms, s.measured.P99Ms)
	}
	if s.Quota > 0 {
		p.periods.add(predicted.Periods, s.measured.Periods)
		if s.measured.Throttled >= throttledKnown {
			p.throttled.add(predicted.Throttled, s.measured.Throttled)
		}
	}
}

func (p *contentionPairs) errors() ContentionErrors {
	return ContentionErrors{p.cpu.errors(), p.mean.errors(), p.p99.errors(), p.periods.errors(), p.throttled.errors()}
}

func newContentionReport(seeds int, runs []contentionRun, held []bool, fits map[string]Overhead,
	simulated [][enginesCompared][][]outcome) *ContentionReport {
	r := &ContentionReport{Seeds: seeds, Overhead: fits}
	var chance, chanceBusy contentionPairs
	for engine, name := range []string{"event", "fluid"} {
		var halves [2]contentionPairs
		var busy contentionPairs
		for i := range runs {
			half := 0
			if held[i] {
				half = 1
			}
			for k := range runs[i].Servers {
				s := &runs[i].Servers[k]
				m := middle(simulated[i][engine][k])
				halves[half].add(s, m)
				if held[i] && runs[i].load() > 0.8 {
					busy.add(s, m)
				}
				if engine == eventEngine && held[i] {
					pretended := *s
					pretended.measured = simulated[i][engine][k][0]
					chance.add(&pretended, m)
					if runs[i].load() > 0.8 {
						chanceBusy.add(&pretended, m)
					}
				}
			}
		}
		r.Engines = append(r.Engines, ContentionEngine{name, halves[0].errors(), halves[1].errors(), busy.errors()})
	}
	r.Chance, r.ChanceBusy = chance.errors(), chanceBusy.errors()
	for i := range runs {
		for k := range runs[i].Servers {
			r.Rows = append(r.Rows, newContentionRow(&runs[i], k, held[i], simulated[i]))
		}
	}
	return r
}

func newContentionRow(run *contentionRun, server int, held bool, simulated [enginesCompared][][]outcome) ContentionRow {
	s := &run.Servers[server]
	row := ContentionRow{Run: run.Name, Server: s.Name, HeldOut: held, Load: run.load()}
	for i, o := range []outcome{s.measured, middle(simulated[eventEngine][server]), middle(simulated[fluidEngine][server])} {
		row.CPU[i], row.MeanMs[i], row.P99Ms[i], row.Periods[i], row.Throttled[i] = o.CPUSeconds, o.MeanMs, o.P99Ms, o.Periods, o.Throttled
	}
	var tails []float64
	for _, o := range simulated[eventEngine][server] {
		tails = append(tails, o.P99Ms)
	}
	row.Range = central(tails, 0.95)
	return row
}

// WriteText prints the report.
func (r *ContentionReport) WriteText(w io.Writer) error {
	p := newPrinter(w)
	p.printf("Contention: both engines beside real servers that compete for CPU\n\n")
	for _, set := range sortedKeys(r.Overhead) {
		p.printf("Fitted to half of the runs, %s: an overhead per request of %s.\n", set, r.Overhead[set])
	}
	p.printf("Simulated: %d runs of each engine per measured run; the median is the model's answer.\n\n", r.Seeds)
	p.row("median error (90 %)", "CPU", "mean", "p99 (>= 500 requests)", "bias", "periods", "throttled periods", "bias")
	line := func(name string, e ContentionErrors) {
		cell := func(e Errors) string { return fmt.Sprintf("%s (%.0f)", percent(e.Median), 100*e.P90) }
		p.row(name, cell(e.CPU), cell(e.Mean), cell(e.P99), signed(e.P99.Bias), cell(e.Periods), cell(e.Throttled), signed(e.Throttled.Bias))
	}
	for i := range r.Engines {
		e := &r.Engines[i]
		line(e.Engine+", fitted half", e.Fitted)
		line(e.Engine+", held out", e.HeldOut)
		line(e.Engine+", held out, above 80 % load", e.Busy)
	}
	line("event, quota runs, CPU as the kernel charged it", r.Charged)
	line("a perfect model, held out", r.Chance)
	line("a perfect model, held out, above 80 % load", r.ChanceBusy)
	p.flush()
	p.printf("\n")
	for i := range r.Engines {
		cpu, tail, throttled := r.Engines[i].Met()
		p.printf("%s engine, held out: CPU within 5 %%: %s; p99 within 20 %%: %s; throttled periods within 5 %%: %s\n",
			r.Engines[i].Engine, met(cpu), met(tail), met(throttled))
	}
	p.printf("\n")
	r.writeRows(p)
	return p.err()
}

func met(ok bool) string {
	if ok {
		return "met"
	}
	return "missed"
}

// writeRows prints every server; a star marks the runs that were not fitted.
func (r *ContentionReport) writeRows(p *printer) {
	p.row("run", "server", "load", "CPU s", "event", "fluid", "mean ms", "event", "fluid",
		"p99 ms", "event", "central 95 %", "fluid", "periods", "event", "fluid", "throttled", "event", "fluid")
	for _, row := range r.Rows {
		name := row.Run
		if row.HeldOut {
			name += " *"
		}
		cells := []string{name, row.Server, fmt.Sprintf("%.0f %%", 100*row.Load)}
		add := func(format string, values [3]float64) {
			for _, v := range values {
				cells = append(cells, fmt.Sprintf(format, v))
			}
		}
		add("%.2f", row.CPU)
		add("%.1f", row.MeanMs)
		add("%.1f", row.P99Ms)
		cells = append(cells[:len(cells)-1], span(row.Range), cells[len(cells)-1])
		if row.Periods[0] > 0 {
			add("%.0f", row.Periods)
			add("%.0f", row.Throttled)
		}
		p.row(cells...)
	}
	p.flush()
}
