package cli

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/train"
)

// ImitationColumn is the last column that all learning curves have in common; empty where
// no policy imitates another.
const ImitationColumn = "imitation"

// WriteCurve writes a learning curve so far to a CSV file, if one is requested: the common
// columns, and then its own.
func WriteCurve[P any](log string, curve []P, own []string, row func(P) (train.Point, []string)) error {
	if log == "" {
		return nil
	}
	return atomicfile.Write(log, func(w io.Writer) error {
		out := csv.NewWriter(w)
		_ = out.Write(append([]string{"steps", "episodes", "explored", "loss", "evaluation", "qos", "cpu", "memory"},
			own...)) // out.Error reports
		for _, point := range curve {
			p, more := row(point)
			cells := []string{strconv.Itoa(p.Steps), strconv.Itoa(p.Episodes)}
			for _, v := range []float64{p.Explored, p.Loss, p.Evaluation, p.QoS, p.CPU, p.Memory} {
				cells = append(cells, CurveNumber(v))
			}
			_ = out.Write(append(cells, more...))
		}
		out.Flush()
		return out.Error()
	})
}

// CurveNumber formats a number of a learning curve.
func CurveNumber(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// PrintCurve prints a learning curve with one further column as a table, and the events
// below it.
func PrintCurve[P, E any](w io.Writer, curve []P, column string, row func(P) (train.Point, float64), events []E) {
	fmt.Fprintln(w, "STEPS\tEPISODES\tEXPLORED\tREWARD\tQOS\tCPU\tMEMORY\t"+column)
	for _, point := range curve {
		p, more := row(point)
		fmt.Fprintf(w, "%d\t%d\t%.3f\t%.3f\t%.3f\t%.0f %%\t%.0f %%\t%.3f\n", p.Steps, p.Episodes, p.Explored, p.Evaluation, p.QoS,
			100*p.CPU, 100*p.Memory, more)
	}
	fmt.Fprintln(w)
	for _, e := range events {
		fmt.Fprintln(w, e)
	}
}

// idleGain is the minimum gain in reward over no changes.
const idleGain = 0.005

// NoGain is a warning that a trained policy does no better than changing nothing; empty if
// it does.
func NoGain(unchanged, trained train.Result) string {
	if trained.Reward > unchanged.Reward+idleGain {
		return ""
	}
	return fmt.Sprintf("\nwarning: %s did no better than changing nothing (reward %.3f, without changes %.3f). "+
		"Episodes start with enough capacity for their load: if the load hardly changes within one, there is nothing to learn. "+
		"Try a load that changes faster, more --steps or another --seed, and compare the policy with hpa before you use it.\n",
		trained.Policy, trained.Reward, unchanged.Reward)
}
