package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/internal/twin"
)

// With is the run with figures that the user knows, such as "web.workers=16" and
// "web.startup=20s": the twin has them, and their ranges are gone. The error has every fault. The
// receiver is not changed.
func (f *Folder) With(known []string) (*Folder, error) {
	with := *f
	with.known = append(slices.Clone(f.known), known...)
	slices.Sort(with.known)
	var faults []error
	for _, text := range known {
		r, v, err := f.parseKnown(text)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		with.App, _ = r.On(with.App, pool.Cluster{}, v)
		with.Subject.Knowledge.Ranges = slices.DeleteFunc(slices.Clone(with.Subject.Knowledge.Ranges), func(o twin.Range) bool {
			return o.Figure == r.Figure && o.Service == r.Service
		})
	}
	return &with, errors.Join(faults...)
}

// parseKnown reads one figure.
func (f *Folder) parseKnown(text string) (r twin.Range, v float64, err error) {
	name, value, found := strings.Cut(text, "=")
	dot := strings.LastIndex(name, ".")
	if !found || dot < 0 {
		return r, 0, fmt.Errorf("%q must be SERVICE.workers=N or SERVICE.startup=DURATION", text)
	}
	r.Service = name[:dot]
	if f.App.ServiceIndex(r.Service) < 0 {
		return r, 0, fmt.Errorf("%q: unknown service %q%s", text, r.Service, suggest.Hint(r.Service, f.Subject.Services))
	}
	switch figure := name[dot+1:]; figure {
	case "workers":
		r.Figure = twin.Workers
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > 100_000 {
			return r, 0, fmt.Errorf("%q: workers are %q, must be a whole number from 1 to 100000", text, value)
		}
		return r, float64(n), nil
	case "startup":
		r.Figure = twin.Startup
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || d > time.Hour {
			return r, 0, fmt.Errorf("%q: start-up is %q, must be a duration above 0 and at most 1h, such as 20s", text, value)
		}
		return r, d.Seconds(), nil
	default:
		return r, 0, fmt.Errorf("%q: unknown figure %q%s", text, figure, suggest.Hint(figure, []string{"workers", "startup"}))
	}
}
