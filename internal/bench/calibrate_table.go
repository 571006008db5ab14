package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteText writes the best policy on a separate line, and then the table of trials.
func (f *Calibration) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", f.Spec)
	fmt.Fprintf(&b, "core-hours %.4g, %.3f %% of the requests over the SLO; the default: %.4g, %.3f %%\n\n",
		f.Best.CoreHours, 100*f.Best.Over, f.Default.CoreHours, 100*f.Default.Over)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "policy\tengine\tcore-hours\tover SLO\t")
	for _, try := range f.Tried {
		remark := try.Remark
		if try.Spec == f.Best.Spec && try.Engine == f.Best.Engine {
			remark = "best"
		}
		fmt.Fprintf(t, "%s\t%s\t%.4g\t%.3f %%\t%s\n", try.Spec, try.Engine, try.CoreHours, 100*try.Over, remark)
	}
	t.Flush()
	_, err := io.WriteString(w, b.String())
	return err
}
