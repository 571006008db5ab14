package cli

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/result"
)

func writeReplay(w io.Writer, out *replayed, show int) error {
	r := &out.Replay
	was := strings.Join(r.Recorded, ", ")
	fmt.Fprintf(w, "%s at %d decisions of %s, from %s to %s\n", r.Policy, r.Decisions, was, decisionlog.FormatTime(r.First),
		decisionlog.FormatTime(r.Last))
	fmt.Fprintln(w, "Open loop: every situation is as recorded; the other policy's proposals do not change the next.")
	for _, remark := range r.Remarks {
		fmt.Fprintf(w, "Note: %s.\n", remark)
	}
	if r.Blind > 0 {
		fmt.Fprintf(w, "%d decisions without an observation were left out.\n", r.Blind)
	}
	if r.Held > 0 {
		fmt.Fprintf(w, "It held %d times without data.\n", r.Held)
	}
	fmt.Fprintf(w, "%d of %d decisions differ. Proposed as recorded, and by the other policy:\n\n", r.Differ, r.Decisions)
	if err := writeReplayTable(w, r); err != nil {
		return err
	}
	if largest := r.LargestFirst(); len(largest) > 0 && show > 0 {
		fmt.Fprintf(w, "\nThe largest differences:\n")
		for _, d := range largest[:min(show, len(largest))] {
			fmt.Fprintf(w, "  %s\n", difference(was, r.Policy, &d))
		}
		if left := len(largest) - show; left > 0 {
			fmt.Fprintf(w, "  and %d more (--show)\n", left)
		}
	}
	if out.Closed != nil {
		writeClosedLoop(w, out.Closed)
	}
	return nil
}

// writeReplayTable shows what each proposed: the recorded policy, then the other.
func writeReplayTable(w io.Writer, r *decisionlog.ReplayReport) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "SERVICE\tDIFFER\tREPLICA-HOURS\tOTHER\tCORE-HOURS\tOTHER\n")
	rows := slices.Clone(r.Services)
	if len(rows) > 1 {
		total := decisionlog.ReplayedService{Name: "all", Differ: len(r.Differences)}
		for _, s := range r.Services {
			total.ReplicaHours += s.ReplicaHours
			total.OtherReplicaHours += s.OtherReplicaHours
			total.CoreHours += s.CoreHours
			total.OtherCoreHours += s.OtherCoreHours
		}
		rows = append(rows, total)
	}
	for _, s := range rows {
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%.2f (%s)\t%.2f\t%.2f (%s)\n", s.Name, s.Differ,
			s.ReplicaHours, s.OtherReplicaHours, against(s.OtherReplicaHours, s.ReplicaHours),
			s.CoreHours, s.OtherCoreHours, against(s.OtherCoreHours, s.CoreHours))
	}
	return t.Flush()
}

// difference of one service at one decision and those after it, in a line.
func difference(was, other string, d *decisionlog.Episode) string {
	text := decisionlog.FormatTime(d.At)
	if d.Times > 1 {
		text += fmt.Sprintf(" and %d more", d.Times-1)
	}
	text += fmt.Sprintf(", %s at %s: %s proposed %s", d.Service, loadline.DescribeReplicas(d.Before.Replicas), was,
		d.Asked.Setting().Describe())
	if d.Reason != "" {
		text += " (" + d.Reason + ")"
	}
	text += fmt.Sprintf(", %s %s", other, d.Other.Setting().Describe())
	if d.Because != "" {
		text += " (" + d.Because + ")"
	}
	return text
}

// against is a relative difference.
func against(other, was float64) string {
	if !(was > 0) {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100*(other/was-1))
}

func writeClosedLoop(w io.Writer, c *closedLoop) {
	r := &c.Result
	fmt.Fprintf(w, "\nClosed loop: %s on %s in the simulated cluster (%s engine, seed %d), "+
		"under the recorded load and from the recorded initial state:\n",
		r.Policy, c.App, r.Engine, r.Seed)
	recorded := "not measured"
	if v := c.RecordedOverSLO; !math.IsNaN(float64(v)) {
		recorded = result.Percent(v)
	}
	fmt.Fprintf(w, "  over SLO    %s (recorded: %s)\n", result.Percent(r.OverSLORatio), recorded)
	fmt.Fprintf(w, "  cost        %.2f core-hours, %.1f replicas on average, %.0f changes\n", float64(r.CoreHours),
		float64(r.MeanReplicas), float64(r.Changes))
}
