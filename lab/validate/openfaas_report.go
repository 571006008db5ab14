package validate

import (
	"fmt"
	"io"
	"slices"
)

// OpenFaaSReport compares the event engine with measured functions.
type OpenFaaSReport struct {
	Model     FaaSModel `json:"model"`
	Fitted    int       `json:"fitted_samples"`
	Held      int       `json:"held_out_samples"`
	Simulated int       `json:"simulated_samples"`

	Regions   []FaaSErrors `json:"regions"`   // by utilisation, all functions
	Functions []FaaSErrors `json:"functions"` // by function and region

	Overload Overload `json:"overload"`
}

// FaaSErrors on held-out samples, with the trivial predictors.
type FaaSErrors struct {
	Name    string `json:"name"`
	CPU     Beside `json:"cpu"`
	Latency Beside `json:"latency"`
}

// Beside are the errors of the model and of trivial predictors by function and size of the
// machine: the mean, a straight line over the rate, and a straight line of the logarithm. The
// last one minimises ratios, as the errors here are, so it is the one to beat.
type Beside struct {
	Model Errors `json:"model"`
	Mean  Errors `json:"mean"`
	Line  Errors `json:"line"`
	Log   Errors `json:"log_line"`
	// Untuned is the model without the hidden demands.
	Untuned Errors `json:"untuned"`
}

// Overload counts how well the model predicts the data's overloaded flag.
type Overload struct {
	Right  int `json:"right"` // overloaded, and predicted
	Missed int `json:"missed"`
	False  int `json:"false"`
	None   int `json:"none"` // neither
}

// regions of utilisation by the model's own demand: the measured one is capped by the node.
var regions = []struct {
	name string
	upTo float64
}{{"far from saturation (< 70 %)", 0.7}, {"near it (70-100 %)", 1}, {"beyond it", 1e9}}

func regionOf(utilisation float64) int {
	for i, r := range regions {
		if utilisation < r.upTo {
			return i
		}
	}
	return len(regions) - 1
}

type besidePairs struct{ model, untuned, mean, line, log pairs }

func (p *besidePairs) errors() Beside {
	return Beside{p.model.errors(), p.mean.errors(), p.line.errors(), p.log.errors(), p.untuned.errors()}
}

func (r *OpenFaaSReport) compare(samples []faasSample, answers, before [][]faasAnswer, trivial trivialFaaS) {
	cpu, latency := map[string]*besidePairs{}, map[string]*besidePairs{}
	for i := range samples {
		s := &samples[i]
		region := regionOf(r.Model.utilisation(s))
		for j := range s.Functions {
			f, a, b := &s.Functions[j], answers[i][j], before[i][j]
			r.Overload.count(a.success < overloadedBelow, f.Overloaded)
			for _, group := range []string{fmt.Sprint(region), fmt.Sprintf("%s %d", f.Name, region)} {
				if cpu[group] == nil {
					cpu[group], latency[group] = &besidePairs{}, &besidePairs{}
				}
				cpu[group].add(f.Cores, a.cores, b.cores, trivial.of(trivial.cpu, s, f))
				latency[group].add(f.LatencyMs, a.latencyMs, b.latencyMs, trivial.of(trivial.latency, s, f))
			}
		}
	}
	for i, region := range regions {
		if p := cpu[fmt.Sprint(i)]; p != nil {
			r.Regions = append(r.Regions, FaaSErrors{region.name, p.errors(), latency[fmt.Sprint(i)].errors()})
		}
	}
	for _, name := range sortedKeys(r.Model.Functions) {
		for i, region := range regions {
			group := fmt.Sprintf("%s %d", name, i)
			if p := cpu[group]; p != nil {
				r.Functions = append(r.Functions, FaaSErrors{name + ", " + region.name, p.errors(), latency[group].errors()})
			}
		}
	}
}

func (p *besidePairs) add(measured, model, untuned float64, trivial [3]float64) {
	p.model.add(model, measured)
	p.untuned.add(untuned, measured)
	p.mean.add(trivial[0], measured)
	p.line.add(trivial[1], measured)
	p.log.add(trivial[2], measured)
}

// overloadedBelow is the share of successes below which the data marks a function as
// overloaded.
const overloadedBelow = 0.9

func (o *Overload) count(foretold, was bool) {
	switch {
	case foretold && was:
		o.Right++
	case was:
		o.Missed++
	case foretold:
		o.False++
	default:
		o.None++
	}
}

// WriteText prints the report.
func (r *OpenFaaSReport) WriteText(w io.Writer) error {
	p := newPrinter(w)
	p.printf("OpenFaaS: the event engine beside measured functions on one node\n\n")
	p.printf("Fitted on %d samples (every second file); of the %d held out, %d drawn at random were simulated.\n\n", r.Fitted, r.Held,
		r.Simulated)
	p.row("machine", "cores", "always in use")
	for _, name := range sortedKeys(r.Model.Machines) {
		m := r.Model.Machines[name]
		p.row(name, fmt.Sprintf("%.2f", m.Cores), fmt.Sprintf("%.2f", m.Base))
	}
	p.flush()
	p.printf("\n")
	p.row("function", "CPU ms", "latency on an idle node, ms", "base cores", "taken from the node / CPU")
	p.row("(gateway)", fmt.Sprintf("%.2f", r.Model.GatewayMs))
	for _, name := range sortedKeys(r.Model.Functions) {
		f := r.Model.Functions[name]
		p.row(name, fmt.Sprintf("%.2f", f.CPUMs), ms(f.IdleMs), fmt.Sprintf("%.3f", f.Base), fmt.Sprintf("%.2f", f.Hidden))
	}
	p.flush()
	p.printf("\nHeld-out error, median (90 %%):\n\n")
	p.row("", "n", "CPU: model", "mean", "line", "log line", "latency: model", "bias", "without hidden demand", "bias", "mean", "line",
		"log line")
	for _, e := range slices.Concat(r.Regions, r.Functions) {
		p.row(e.Name, fmt.Sprint(e.CPU.Model.N), e.CPU.Model.text(), e.CPU.Mean.text(), e.CPU.Line.text(), e.CPU.Log.text(),
			e.Latency.Model.text(), signed(e.Latency.Model.Bias), e.Latency.Untuned.text(), signed(e.Latency.Untuned.Bias),
			e.Latency.Mean.text(), e.Latency.Line.text(), e.Latency.Log.text())
	}
	p.flush()
	o := r.Overload
	p.printf("\nOverloads predicted: %d of %d, false alarms: %d of %d.\n", o.Right, o.Right+o.Missed, o.False, o.False+o.None)
	return p.err()
}

func (e Errors) text() string { return fmt.Sprintf("%.0f %% (%.0f)", 100*e.Median, 100*e.P90) }
