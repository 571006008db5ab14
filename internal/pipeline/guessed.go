package pipeline

import (
	"fmt"
	"strings"

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

// ToMeasure says what to add to a history in which too much was guessed.
const ToMeasure = "pull a history with CPU usage and requests (preset cadvisor-ksm) and with response times (a mesh, ingress or " +
	"OpenTelemetry preset; loadline history presets), or add the columns cpu, cpu_request and latency_p99 to the CSV files; leave a " +
	"service out with --without"
