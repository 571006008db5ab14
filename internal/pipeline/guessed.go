package pipeline

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/twin"
)

// guessed are the figures of a twin without which no saving can be concluded. The CPU of a
// request decides how many replicas are needed; without it, or without both response times and
// the sizes that are paid for, a simulation shows what was assumed.
func guessed(t *twin.Twin) []string {
	assumed := map[string]bool{}
	for _, a := range t.Report.Assumed {
		assumed[a.Field] = true
	}
	var all []string
	for i := range t.App.Services {
		name := t.App.Services[i].Name
		var lacks []string
		for _, figure := range []struct{ field, what string }{
			{"cpu", "CPU per request"}, {"cpu.cv", "response times"}, {"size.cpu.request", "sizes"}, {"startup", "start-up time"},
		} {
			if assumed["services."+name+"."+figure.field] {
				lacks = append(lacks, figure.what)
			}
		}
		cpu := assumed["services."+name+".cpu"]
		if cpu || assumed["services."+name+".cpu.cv"] && assumed["services."+name+".size.cpu.request"] {
			all = append(all, fmt.Sprintf("service %s: %s", name, strings.Join(lacks, ", ")))
		}
	}
	return all
}

// replacedFrom is the change of the CPU per request from which on a twin does not stand for the new
// release: the bill of what serves the load changes about as much, and the savings that are judged
// are often not much larger. Smaller changes are within the errors of a twin.
const replacedFrom = 0.1

// replaced are services that had a release after the part that candidates are trained on.
func replaced(t *twin.Twin) []string {
	var all []string
	for _, s := range t.Report.Services {
		c := s.Later
		if c == nil || math.Abs(c.After.Seconds()/c.Before.Seconds()-1) < replacedFrom {
			continue
		}
		all = append(all, fmt.Sprintf("service %s: CPU per request %v before %s, %v since", s.Service, c.Before,
			c.At.UTC().Format(time.RFC3339), c.After))
	}
	return all
}

// ToTrainAgain says what to do about a release that is gone.
const ToTrainAgain = "train again on what was recorded since then (loadline train --since), once that is some days"

// ToMeasure says what to add to a history in which too much was guessed.
const ToMeasure = "pull a history with CPU usage and requests (preset cadvisor-ksm) and with response times (a mesh, ingress or " +
	"OpenTelemetry preset; loadline history presets), or add the columns cpu, cpu_request and latency_p99 to the CSV files; leave a " +
	"service out with --without"
