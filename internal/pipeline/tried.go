package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
)

// shownTries is how many settings of the search are shown; tune.json and evaluation.json have all.
const shownTries = 12

// writeTried shows the settings that were searched, the best first: those that the event engine
// confirmed, then those that were best in the search.
func (e *Evaluation) writeTried(b *strings.Builder) {
	tried := e.Selection.Tried
	if len(tried) == 0 {
		return
	}
	var confirmed, searched []bench.Try
	for _, t := range tried {
		if t.Engine == "event" {
			confirmed = append(confirmed, t)
		} else if i := slices.IndexFunc(searched, func(s bench.Try) bool { return s.Spec == t.Spec }); i >= 0 {
			searched[i] = t // on all loads
		} else {
			searched = append(searched, t)
		}
	}
	fmt.Fprintf(b, "Search of the best rules, on the busiest and the steepest stretch of the part before the test: %s\n",
		counted(len(searched), "setting"))
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  \tsetting\tengine\tcost\tover SLO, worst run\tchanges/h\t")
	left := shownTries
	for _, list := range [][]bench.Try{confirmed, searched} {
		slices.SortStableFunc(list, func(a, b bench.Try) int {
			return cmp.Or(cmp.Compare(min(len(a.Remark), 1), min(len(b.Remark), 1)), cmp.Compare(a.Cost(), b.Cost()))
		})
		for i, try := range list {
			if left--; left < 0 {
				break
			}
			fmt.Fprintf(t, "  %d\t%s\t%s\t%.4g\t%s\t%.1f\t%s\n", i+1, RuleName(try.Spec), try.Engine, try.Cost(),
				result.Percent(result.Number(try.Over)), try.Changes, try.Remark)
		}
	}
	t.Flush()
	b.WriteByte('\n')
}

// withPolicy is the baseline that runs a policy, or nil.
func (e *Evaluation) withPolicy(spec string) *Entry {
	for i := range e.Entries {
		if e.Entries[i].Policy == spec {
			return &e.Entries[i]
		}
	}
	return nil
}
