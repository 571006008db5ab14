package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/suggest"
)

// fit fits profiles to a history, and measures the same in the event engine if there is an
// application.
func (f *profileFlags) fit(ctx context.Context, stdout, stderr io.Writer) error {
	var faults []error
	if f.version != "" || f.cpu != 0 {
		faults = append(faults, Usagef("--version and --cpu are for measurements in the event engine, not for --history"))
	}
	faults = append(faults, checkHistoryPercentile(f.percentile), f.checkRest())
	var app *loadline.App
	if f.appGiven {
		model, err := loadApp(f.app)
		if err == nil {
			app = model.App
		}
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	h, services, err := openPast(f.history, f.service)
	if err != nil {
		return err
	}
	set, err := fitAll(h, services, f.percentile)
	if err != nil {
		return err
	}
	set.App = nameOf(h, f.history)
	var beside []*profile.Curve
	if app != nil {
		if beside, err = measureBeside(ctx, app, set, f.seeds, stderr); err != nil {
			return err
		}
	}
	return f.write(stdout, set, beside)
}

func checkHistoryPercentile(p float64) error {
	if !slices.Contains(profile.Percentiles(), p) {
		return Usagef("--percentile %v is in no history: choose one of %v", p, profile.Percentiles())
	}
	return nil
}

// openPast reads a history and returns the selected services. Calls of all services are read,
// since they show whether a service has any.
func openPast(dir, service string) (*history.History, []string, error) {
	h, err := history.Read(dir, history.Options{})
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for i := range h.Services {
		names = append(names, h.Services[i].Name)
	}
	if service == "" {
		return h, names, nil
	}
	if !slices.Contains(names, service) {
		return nil, nil, Usagef("--service %s is not in %s%s", service, dir, suggest.Hint(service, names))
	}
	return h, []string{service}, nil
}

// fitAll fits the profiles of services. The bootstrap has a fixed seed.
func fitAll(h *history.History, services []string, percentile float64) (*profile.Set, error) {
	set := &profile.Set{}
	for i, service := range services {
		list, lacks, err := profile.Fit(h, service, profile.FitOptions{Percentile: percentile},
			sim.Stream(1, sim.StreamMetrics, uint64(i)))
		if err != nil {
			return nil, fmt.Errorf("profile of %s: %w", service, err)
		}
		set.Profiles, set.Missing = append(set.Profiles, list...), append(set.Missing, lacks...)
	}
	return set, nil
}

// measureBeside measures the fitted services in the event engine, in the same sizes. Profiles
// that include calls cannot be compared.
func measureBeside(ctx context.Context, app *loadline.App, set *profile.Set, seeds int, stderr io.Writer) ([]*profile.Curve, error) {
	curves := make([]*profile.Curve, len(set.Profiles))
	bar := NewProgress(stderr, "profiling "+app.Name)
	defer bar.Done()
	for i := range set.Profiles {
		p := &set.Profiles[i]
		at := app.ServiceIndex(p.Service)
		if at < 0 || p.IncludesCalls {
			continue
		}
		size := app.Services[at].Size
		size.CPURequest, size.CPULimit = p.Size.CPURequest, p.Size.CPULimit
		m, err := profile.Measure(ctx, app, at, profile.Options{Percentile: p.Percentile, Size: &size, Seeds: seeds})
		if err != nil {
			return nil, err
		}
		if curves[i], err = m.Curve(); err != nil {
			return nil, err
		}
		bar.At(float64(i+1) / float64(len(set.Profiles)))
	}
	return curves, nil
}
