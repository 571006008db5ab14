package validate

import (
	"fmt"
	"io"
)

// WriteText prints the report.
func (r *HotelReport) WriteText(w io.Writer) error {
	p := newPrinter(w)
	a := r.Audit
	p.printf("Hotel reservation: the model beside DeathStarBench on a real cluster\n\n")
	p.printf("What the data can support, of %d windows of 30 s:\n", a.Windows)
	p.printf("  %d have a mean and %d a p99 that look measured; the others are spread evenly over fixed ranges, whatever their "+
		"deviation.\n", a.MeanKnown, a.P99Known)
	p.printf("  In %d mean, p99 and standard deviation contradict each other.\n", a.Impossible)
	p.printf("  %d are overloaded (less than 97 %% of the offered load came out), %d are full (99 %%).\n", a.Overloaded, a.Full)
	p.printf("  In %d of the overloaded ones some service has fewer replicas than a measured run shows it needs.\n", a.Explicable)
	p.printf("  The %d windows with 8 replicas of everything: median throughput from %d/s to %d/s, depending on the run.\n", a.Same,
		a.SameLow, a.SameHigh)
	p.printf("  %s of the variance of %s's throughput lies between allocations.\n\n", percent(a.Between), hotelFitted[0])

	p.printf("The client's part: latency from measured throughput, nothing fitted. Error, median (90 %%):\n\n")
	p.row("", "n", "mean: model", "bias", "average", "line", "n", "p99: alike", "unequal", "bias", "average", "line")
	for _, e := range r.Client {
		p.row(e.Windows, fmt.Sprint(e.Mean.N), e.Mean.text(), signed(e.Mean.Bias), e.Average.text(), e.Line.text(),
			fmt.Sprint(e.Equal.N), e.Equal.text(), e.Spread.text(), signed(e.Spread.Bias), e.Typical.text(), e.P99Line.text())
	}
	p.flush()

	p.printf("\nThe services' part: throughput and mean latency from the allocation. Error, median (90 %%):\n\n")
	p.row("", "n", "throughput: model", "median", "n", "mean latency: model", "average", "overloads predicted")
	for _, e := range r.Allocation {
		p.row(e.Windows, fmt.Sprint(e.Throughput.N), e.Throughput.text(), e.ByMedian.text(),
			fmt.Sprint(e.Mean.N), e.Mean.text(), e.MeanByMedian.text(), percent(e.Foretold))
	}
	p.flush()

	p.printf("\nFitted demand, ms of CPU per request (0.01 = never limits):\n\n")
	for i, name := range r.Model.Services {
		p.row("  "+name, fmt.Sprintf("%.2f", r.Model.DemandMs[i]))
	}
	p.flush()
	e := r.Engine
	p.printf("\nClosed forms beside the event engine, %d held-out windows: client's mean %s, p99 %s, call graph's throughput %s.\n",
		e.Simulated, e.ClientMean.text(), e.ClientP99.text(), e.Throughput.text())
	return p.err()
}
