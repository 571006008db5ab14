package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/suggest"
)

// overrideSLOs applies --slo flags to an app: "250ms", "p99=250ms",
// "checkout:p95=250ms" or "checkout:250ms".
func overrideSLOs(app *loadline.App, flags []string) error {
	var faults []error
	for _, flag := range flags {
		if err := overrideSLO(app, flag); err != nil {
			faults = append(faults, fmt.Errorf("--slo %s: %w", flag, err))
		}
	}
	return errors.Join(faults...)
}

func overrideSLO(app *loadline.App, flag string) error {
	kind, rest, named := strings.Cut(flag, ":")
	if !named {
		kind, rest = "", flag
	}
	percentile, latency, hasPercentile := strings.Cut(rest, "=")
	if !hasPercentile {
		percentile, latency = "", rest
	}
	d, err := time.ParseDuration(latency)
	if err != nil || d <= 0 {
		return fmt.Errorf("latency %q must be a time above 0, like 250ms", latency)
	}
	p := 0.0
	if hasPercentile {
		p, err = strconv.ParseFloat(strings.TrimPrefix(percentile, "p"), 64)
		if err != nil || !strings.HasPrefix(percentile, "p") || !(p > 0 && p < 100) {
			return fmt.Errorf("percentile %q must be from p1 to p99.99", percentile)
		}
	}
	if kind != "" && app.KindIndex(kind) < 0 {
		var names []string
		for _, k := range app.Kinds {
			names = append(names, k.Name)
		}
		return fmt.Errorf("unknown kind of request %q%s", kind, suggest.Hint(kind, names))
	}
	for i := range app.Kinds {
		if kind == "" || app.Kinds[i].Name == kind {
			app.Kinds[i].SLO.Latency = d
			if p > 0 {
				app.Kinds[i].SLO.Percentile = p
			}
		}
	}
	return nil
}
