package result

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

// CountsIf is the share of requests over the SLO up to which a run's cost
// counts in a comparison: violating the SLO always looks cheap.
const CountsIf = 0.01

// SLOMet reports whether the run's cost counts.
func (r *Result) SLOMet() bool { return float64(r.Degraded()) <= CountsIf }

// Degraded is what a run is judged by: DegradedRatio, or the share over the SLO in a result from
// before there was one. NaN without requests.
func (r *Result) Degraded() Number {
	if r.DegradedRatio > r.OverSLORatio {
		return r.DegradedRatio
	}
	return r.OverSLORatio
}

// Met reports whether the kind met its SLO over the whole run.
func (k *Kind) Met() bool { return float64(k.OverSLORatio) <= 1-float64(k.SLO.Percentile)/100+1e-12 }

// WriteJSON writes one object, indented, in the order of the fields.
func (r *Result) WriteJSON(w io.Writer) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// Judged reports whether there were requests by which the SLO could be judged.
func (r *Result) Judged() bool { return !math.IsNaN(float64(r.OverSLORatio)) }

// Headline is the verdict of the run and what it cost, in one line.
func (r *Result) Headline() string {
	if !r.Judged() {
		return "SLO not judged: no requests ended."
	}
	over := fmt.Sprintf("%s of %s over it", Percent(r.OverSLORatio), r.whose())
	if r.Degraded() > r.OverSLORatio {
		over += fmt.Sprintf(", %s with dropped optional calls at their price", Percent(r.DegradedRatio))
	}
	bill := Money(r.Bill, r.Currency)
	if r.SLOMet() {
		return fmt.Sprintf("SLO met: %s, at most %g %% allowed. The cost counts: %s.", over, 100*CountsIf, bill)
	}
	return fmt.Sprintf("SLO violated: %s, at most %g %% allowed. The cost does not count: %s.", over, 100*CountsIf, bill)
}

// WriteText writes the summary as text, the verdict first.
func (r *Result) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s on %s, workload %s, %s, %s engine, seed %d\n\n", r.Headline(), r.Policy, r.App, r.Workload,
		duration(float64(r.DurationSeconds)), r.Engine, r.Seed)
	if r.Cluster != "" {
		fmt.Fprintf(&b, "%s\n\n", r.Cluster)
	}
	r.writeKinds(&b)
	r.writeServices(&b)
	r.writeApplications(&b)
	r.writeBill(&b)
	r.writeMinutes(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Result) writeKinds(b *strings.Builder) {
	rows := [][]string{{"request", "SLO", "requests", "failed", "over SLO", "mean", "p50", "p95", "p99", "p99.9", "verdict"}}
	for _, k := range r.Kinds {
		verdict := "met"
		if !k.Met() {
			verdict = "VIOLATED"
		}
		if math.IsNaN(float64(k.OverSLORatio)) {
			verdict = "no requests"
		}
		l := k.Latency
		rows = append(rows, []string{
			k.Name, fmt.Sprintf("p%g < %s", float64(k.SLO.Percentile),
				ms(k.SLO.Latency)), count(k.Requests), Percent(k.FailedRatio), Percent(k.OverSLORatio),
			ms(l.Mean), ms(l.P50), ms(l.P95), ms(l.P99), ms(l.P999), verdict,
		})
	}
	table(b, rows)
}

func (r *Result) writeServices(b *strings.Builder) {
	rows := [][]string{{"service", "visits", "failed", "p50", "p99", "replicas", "core-hours", "used", "GiB-hours", "throttled",
		"restarts", "changes"}}
	row := func(name string, s Service) []string {
		used := Number(100 * float64(s.UsedCoreHours/s.CoreHours))
		return []string{
			name, count(s.Requests), Percent(s.FailedRatio), ms(s.Latency.P50), ms(s.Latency.P99),
			fixed(s.MeanReplicas, 2), fixed(s.CoreHours, 2), whole(used), fixed(s.GiBHours,
				2), Percent(s.ThrottledRatio), count(s.Restarts), count(s.Changes),
		}
	}
	var used Number
	for _, s := range r.Services {
		rows = append(rows, row(s.Name, s))
		used += s.UsedCoreHours
	}
	rows = append(rows, []string{
		"all", "", "", "", "", fixed(r.MeanReplicas, 2), fixed(r.CoreHours, 2), whole(100 * used / r.CoreHours), fixed(r.GiBHours,
			2), "", "", count(r.Changes),
	})
	table(b, rows)
}

// writeBill writes what the run cost, and what it was paid for.
func (r *Result) writeBill(b *strings.Builder) {
	fmt.Fprintf(b, "Bill: %s (node hours %s, allocated %s, used %s core-hours).\n", Money(r.Bill, r.Currency), fixed(r.NodeHours, 1),
		fixed(r.AllocatedCoreHours, 2), fixed(r.UsedCoreHours, 2))
}

// symbols of currencies that are written before the amount.
var symbols = map[string]string{"": "$", "USD": "$", "EUR": "€", "GBP": "£"}

// Money formats an amount: $1.23, CHF 1.23; with four digits below 0.1.
func Money(n Number, currency string) string {
	if absent(n) {
		return "-"
	}
	digits := 2
	if n > 0 && n < 0.1 {
		digits = 4
	}
	symbol, known := symbols[currency]
	if !known {
		symbol = currency + " "
	}
	return symbol + fixed(n, digits)
}

// writeMinutes writes what the headline leaves out.
func (r *Result) writeMinutes(b *strings.Builder) {
	if r.LeftRatio > 0 {
		fmt.Fprintf(b, "Users left: %s of all requests were not sent, and count as over the SLO.\n", Percent(r.LeftRatio))
	}
	if !math.IsNaN(float64(r.WindowsViolatedRatio)) {
		if r.WindowsViolatedRatio == 0 {
			fmt.Fprint(b, "The SLO was met in every minute.")
		} else {
			fmt.Fprintf(b, "The SLO was violated in %s of the minutes.", Percent(r.WindowsViolatedRatio))
		}
		if d := float64(r.OptionalDroppedRatio); d > 0 {
			fmt.Fprintf(b, " %s of the optional calls were dropped.", Percent(r.OptionalDroppedRatio))
		}
		fmt.Fprintln(b)
	}
}

func table(b *strings.Builder, rows [][]string) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	widest := 0
	for _, row := range rows {
		widest = max(widest, len(row[0]))
	}
	for _, row := range rows {
		// Names are left-aligned, figures right-aligned.
		row[0] += strings.Repeat(" ", widest-len(row[0]))
		fmt.Fprintln(w, strings.Join(row, "\t")+"\t")
	}
	w.Flush()
	b.WriteByte('\n')
}

func absent(n Number) bool { return math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) }

func fixed(n Number, digits int) string {
	if absent(n) {
		return "-"
	}
	return fmt.Sprintf("%.*f", digits, float64(n))
}

func count(n Number) string { return fixed(n, 0) }

func whole(percent Number) string {
	if absent(percent) {
		return "-"
	}
	return fixed(percent, 0) + " %"
}

// Percent formats a ratio as a percentage.
func Percent(n Number) string {
	v := 100 * float64(n)
	switch {
	case absent(n):
		return "-"
	case v == 0:
		return "0 %"
	case v < 0.01:
		return "<0.01 %"
	case v < 10:
		return fmt.Sprintf("%.2f %%", v)
	}
	return fmt.Sprintf("%.1f %%", v)
}

func ms(n Number) string {
	v := float64(n)
	switch {
	case absent(n):
		return "-"
	case v < 10:
		return fmt.Sprintf("%.1f ms", v)
	case v < 10000:
		return fmt.Sprintf("%.0f ms", v)
	}
	return fmt.Sprintf("%.1f s", v/1000)
}

func duration(seconds float64) string {
	return shortDuration(time.Duration(seconds * float64(time.Second)))
}

// shortDuration omits zero parts: 24h, not 24h0m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
