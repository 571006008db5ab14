package cli

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/train"
)

// imitationColumn is among those of every curve, so that all can be read alike. Where
// nobody imitates anybody it is empty.
const imitationColumn = "imitation"

// writeCurve writes a learning curve so far, if a log is asked for: what all tell of
// theirs, and then columns of its own.
func writeCurve[P any](log string, curve []P, own []string, row func(P) (train.Point, []string)) error {
	if log == "" {
		return nil
	}
	return atomicfile.Write(log, func(w io.Writer) error {
		out := csv.NewWriter(w)
		_ = out.Write(append([]string{"steps", "episodes", "explored", "loss", "evaluation", "qos", "cpu", "memory"},
			own...)) // Error tells
		for _, point := range curve {
			p, more := row(point)
			cells := []string{strconv.Itoa(p.Steps), strconv.Itoa(p.Episodes)}
			for _, v := range []float64{p.Explored, p.Loss, p.Evaluation, p.QoS, p.CPU, p.Memory} {
				cells = append(cells, logged(v))
			}
			_ = out.Write(append(cells, more...))
		}
		out.Flush()
		return out.Error()
	})
}

// logged is a number as curves have it.
func logged(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// idleGain is how much more reward than without changes counts.
const idleGain = 0.005

// idle says so where whoever was taught does no better than nobody; empty otherwise.
func idle(nobody, taught train.Result) string {
	if taught.Reward > nobody.Reward+idleGain {
		return ""
	}
	return fmt.Sprintf("\nwarning: %s did no better than changing nothing (reward %.3f, without changes %.3f). Episodes begin with enough for their load: if it hardly moves within one, there is nothing to learn. Try a load that moves faster, more --steps or another --seed, and hold it against hpa before you follow it.\n", taught.Policy, taught.Reward, nobody.Reward)
}
