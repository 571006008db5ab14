package cli

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/loadline/loadline/internal/apps"
)

// appReport is what apps check prints as JSON or YAML.
type appReport struct {
	Name     string         `json:"name"`
	Services int            `json:"services"`
	Figures  int            `json:"figures"`
	Kinds    []kindReport   `json:"kinds"`
	Shares   map[string]int `json:"figures_by_provenance"`
	Origins  []originReport `json:"origins,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
}

type kindReport struct {
	Name       string  `json:"name"`
	Share      float64 `json:"share"`
	Visits     float64 `json:"visits"`
	CPU        float64 `json:"cpu_seconds"`
	Unloaded   float64 `json:"unloaded_seconds"`
	Percentile float64 `json:"slo_percentile"`
	Latency    float64 `json:"slo_seconds"`
}

type originReport struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Figures int    `json:"figures"`
	Source  string `json:"source"`
}

func newAppReport(r apps.Report) appReport {
	report := appReport{Name: r.Name, Services: r.Services, Figures: r.Figures, Shares: map[string]int{}, Warnings: r.Warnings}
	for _, k := range r.Kinds {
		report.Kinds = append(report.Kinds, kindReport{
			k.Name, k.Share, k.Visits, k.CPU.Seconds(), k.Unloaded.Seconds(), k.SLO.Percentile, k.SLO.Latency.Seconds(),
		})
	}
	for p, n := range r.Shares {
		report.Shares[string(p)] = n
	}
	for _, o := range r.Origins {
		report.Origins = append(report.Origins, originReport{o.Name, string(o.Kind), o.Figures, o.Source})
	}
	return report
}

func printAppReport(w io.Writer, r apps.Report) error {
	fmt.Fprintf(w, "%s is valid: %d services, %d kinds of requests, %d figures\n\n", r.Name, r.Services, len(r.Kinds), r.Figures)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KIND\tSHARE\tVISITS\tCPU\tUNLOADED\tSLO")
	for _, k := range r.Kinds {
		fmt.Fprintf(t, "%s\t%.1f %%\t%.1f\t%v\t%v\tp%g within %v\n", k.Name, 100*k.Share, k.Visits,
			k.CPU.Round(10*time.Microsecond), k.Unloaded.Round(10*time.Microsecond), k.SLO.Percentile, k.SLO.Latency)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nWhere the figures come from:")
	for _, p := range apps.Provenances() {
		if n := r.Shares[p]; n > 0 {
			fmt.Fprintf(t, "  %s\t%d\t%.0f %%\n", p, n, 100*float64(n)/float64(r.Figures))
		}
	}
	fmt.Fprintln(t)
	for _, o := range r.Origins {
		fmt.Fprintf(t, "  %s (%s)\t%d\t%s\n", o.Name, o.Kind, o.Figures, o.Source)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, warning := range r.Warnings {
		fmt.Fprintln(w, "warning:", warning)
	}
	return nil
}
