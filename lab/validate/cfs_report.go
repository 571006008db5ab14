package validate

import (
	"fmt"
	"io"
)

// CFSReport compares the event engine with real processes under a CPU quota.
type CFSReport struct {
	Seeds    int         `json:"seeds"`
	Overhead Overhead    `json:"overhead"` // by all runs
	Halves   [2]Overhead `json:"halves"`   // fitted to every second run, and to the others
	Rows     []CFSRow    `json:"rows"`

	Quota   CFSErrors `json:"quota"`   // the kernel's periods
	Crossed CFSErrors `json:"crossed"` // each run with the fit of the other half
	// Charged uses each run's CPU per request by the kernel's accounting instead of the
	// configured demand and the fitted overhead: the demand as drawn.
	Charged CFSErrors `json:"charged"`
	Shared  CFSErrors `json:"shared"` // plain processor sharing

	// Share of the measured values within the central 95 % of simulated runs.
	Covered   int `json:"covered"`
	Coverable int `json:"coverable"`

	Perfect CFSPerfect `json:"perfect"`
}

// CFSPerfect is the result of a perfect model: one simulated run of each kind is used as the
// measured one and compared with the model, for every seed. Runs of 35 s differ that much by
// chance.
type CFSPerfect struct {
	Mean      float64    `json:"mean"` // median error, in the median over seeds
	MeanRange [2]float64 `json:"mean_range"`
	P99       float64    `json:"p99"`
	P99Range  [2]float64 `json:"p99_range"`
	Passes    float64    `json:"passes"` // share of seeds with both within 15 %
}

// CFSErrors of the mean, and of the p99 where it was measured well.
type CFSErrors struct {
	Mean Errors `json:"mean"`
	P99  Errors `json:"p99"`
}

// CFSRow is one measured run. The model's value is the median over seeds, the range the central
// 95 %.
type CFSRow struct {
	Run       string     `json:"run"`
	Completed float64    `json:"completed"`
	MeanMs    [2]float64 `json:"mean_ms"` // measured, simulated
	MeanRange [2]float64 `json:"mean_range_ms"`
	P99Ms     [2]float64 `json:"p99_ms"`
	P99Range  [2]float64 `json:"p99_range_ms"`
	SharedMs  [2]float64 `json:"shared_ms"` // mean and p99 of plain processor sharing
}

// fill compares run by run.
func (r *CFSReport) fill(runs []cfsRun, quota, shared []latencies) {
	for i := range runs {
		run, q := &runs[i], &quota[i]
		row := CFSRow{
			Run: run.name(), Completed: run.Completed,
			MeanMs: [2]float64{run.MeanMs, median(q.meanMs)}, MeanRange: central(q.meanMs, 0.95),
			P99Ms: [2]float64{run.P99Ms, median(q.p99Ms)}, P99Range: central(q.p99Ms, 0.95),
			SharedMs: [2]float64{median(shared[i].meanMs), median(shared[i].p99Ms)},
		}
		r.Rows = append(r.Rows, row)
		r.Coverable += 2
		r.Covered += within(run.MeanMs, row.MeanRange) + within(run.P99Ms, row.P99Range)
	}
	r.Quota = compareCFS(runs, quota)
	r.Perfect = perfectCFS(runs, quota, r.Seeds)
}

func perfectCFS(runs []cfsRun, quota []latencies, seeds int) CFSPerfect {
	var means, p99s []float64
	passes := 0.0
	for seed := range seeds {
		pretended := make([]cfsRun, len(runs))
		for i, r := range runs {
			r.MeanMs, r.P99Ms = quota[i].meanMs[seed], quota[i].p99Ms[seed]
			pretended[i] = r
		}
		e := compareCFS(pretended, quota)
		means, p99s = append(means, e.Mean.Median), append(p99s, e.P99.Median)
		if e.Mean.Median <= asked && e.P99.Median <= asked {
			passes++
		}
	}
	return CFSPerfect{median(means), central(means, 0.95), median(p99s), central(p99s, 0.95), passes / float64(seeds)}
}

// asked is the required median error of mean and p99.
const asked = 0.15

type cfsPairs struct{ mean, p99 pairs }

func (p *cfsPairs) add(r *cfsRun, meanMs, p99Ms float64) {
	p.mean.add(meanMs, r.MeanMs)
	if r.tailKnown() {
		p.p99.add(p99Ms, r.P99Ms)
	}
}

func (p *cfsPairs) errors() CFSErrors { return CFSErrors{Mean: p.mean.errors(), P99: p.p99.errors()} }

func compareCFS(runs []cfsRun, simulated []latencies) CFSErrors {
	var p cfsPairs
	for i := range runs {
		p.add(&runs[i], median(simulated[i].meanMs), median(simulated[i].p99Ms))
	}
	return p.errors()
}

// central is the range that holds the central share of the values.
func central(values []float64, share float64) [2]float64 {
	return [2]float64{quantile(values, (1-share)/2), quantile(values, (1+share)/2)}
}

func within(v float64, r [2]float64) int {
	if v >= r[0] && v <= r[1] {
		return 1
	}
	return 0
}

// WriteText prints the report.
func (r *CFSReport) WriteText(w io.Writer) error {
	p := newPrinter(w)
	p.printf("CFS: the event engine beside real processes under a kernel CPU quota\n\n")
	p.printf("Fitted: an overhead per request and server of %s.\n", r.Overhead)
	p.printf("By every second run: %s; by the others: %s.\n", r.Halves[0], r.Halves[1])
	p.printf("Simulated: %d runs of 40 s each, 5 s dropped; the median is the model's answer.\n\n", r.Seeds)
	p.row("", "mean: median error", "90 %", "bias", "runs", "p99: median error", "90 %", "bias", "runs (>= 1,000 completions)")
	for _, line := range []struct {
		name string
		e    CFSErrors
	}{
		{"quota periods", r.Quota}, {"  each run by the half without it", r.Crossed},
		{"  CPU as the kernel charged it", r.Charged}, {"plain processor sharing", r.Shared},
	} {
		p.row(line.name, percent(line.e.Mean.Median), percent(line.e.Mean.P90), signed(line.e.Mean.Bias), fmt.Sprint(line.e.Mean.N),
			percent(line.e.P99.Median), percent(line.e.P99.P90), signed(line.e.P99.Bias), fmt.Sprint(line.e.P99.N))
	}
	p.flush()
	f := r.Perfect
	p.printf("\nA perfect model would show, by the chance of runs of 35 s: mean %s (95 %% of experiments: %s to %s), p99 %s (%s to %s);\n",
		percent(f.Mean), percent(f.MeanRange[0]), percent(f.MeanRange[1]), percent(f.P99), percent(f.P99Range[0]), percent(f.P99Range[1]))
	p.printf("both within 15 %% in %s of experiments.\n", percent(f.Passes))
	p.printf("%d of %d measured values lie within the central 95 %% of simulated runs.\n\n", r.Covered, r.Coverable)
	r.writeRows(p)
	return p.err()
}

func (r *CFSReport) writeRows(p *printer) {
	p.row("run", "completed", "mean ms", "simulated", "central 95 %", "p99 ms", "simulated", "central 95 %", "shared: mean", "p99")
	for _, row := range r.Rows {
		p.row(row.Run, fmt.Sprint(row.Completed), ms(row.MeanMs[0]), ms(row.MeanMs[1]), span(row.MeanRange),
			ms(row.P99Ms[0]), ms(row.P99Ms[1]), span(row.P99Range), ms(row.SharedMs[0]), ms(row.SharedMs[1]))
	}
	p.flush()
}

func (o Overhead) String() string {
	return fmt.Sprintf("%.2f ms of CPU and %.1f ms without", o.CPUMs, o.WaitMs)
}
