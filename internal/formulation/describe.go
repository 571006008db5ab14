package formulation

import (
	"fmt"
	"math"
	"strings"

	"github.com/loadline/loadline"
)

// phrases are the features in the units of their users. A phrase is empty where the value is
// nothing to mention, such as an empty queue, or does not change, such as the depth.
var phrases = map[string]func(v float64) string{
	"rate":           func(v float64) string { return fmt.Sprintf("%.3g req/s", v) },
	"replicas":       func(v float64) string { return plural(v, "replica") },
	"cpu":            share("CPU at %s of the request"),
	"cpu_limit":      share("CPU at %s of the limit"),
	"cpu_idle":       share("%s of the CPU idle"),
	"memory":         share("memory at %s of the limit"),
	"memory_request": share("memory at %s of the request"),
	"memory_free":    share("%s of the memory free"),
	"load":           share("load at %s of the replicas' CPU"),
	"load_ahead":     share("forecast load at %s of it"),
	"need":           func(v float64) string { return fmt.Sprintf("work for %.3g full replicas", math.Exp2(v)-1) },
	"latency":        share("latency at %s of its part of the SLO"),
	"latency_mean":   share("mean latency at %s of its part of the SLO"),
	"latency_p50":    share("p50 at %s of its part of the SLO"),
	"latency_p90":    share("p90 at %s"),
	"latency_p95":    share("p95 at %s of its part of the SLO"),
	"latency_p99":    share("p99 at %s of its part of the SLO"),
	"queue":          some("a queue of %s of the workers"),
	"concurrency":    share("%s of the workers busy"),
	"held": func(v float64) string {
		if v <= 0 {
			return ""
		}
		return fmt.Sprintf("%.0f requests held", math.Exp2(v)-1)
	},
	"errors": some("%s of the requests failing"),
	"throughput": func(v float64) string {
		if v >= 1 {
			return ""
		}
		return percent(v) + " of the requests served"
	},
	"throttled": some("throttled in %s of the periods"),
	"starting":  some("%s of the replicas starting"),
	"depth":     func(float64) string { return "" },
	"fill":      share("%s of the replicas that are allowed"),
	"size":      share("%s of the CPU that is allowed"),
	"trend":     trend("a minute"),
	"trend_5m":  trend("5 minutes"),
	"forecast": func(v float64) string {
		if v == 1 {
			return ""
		}
		return fmt.Sprintf("forecast %+.0f %%", 100*(v-1))
	},
}

func percent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

func share(format string) func(float64) string {
	return func(v float64) string { return fmt.Sprintf(format, percent(v)) }
}

// some is a share that is mentioned where there is any.
func some(format string) func(float64) string {
	return func(v float64) string {
		if v < 0.005 {
			return ""
		}
		return fmt.Sprintf(format, percent(v))
	}
}

// trend is a logarithm of a ratio.
func trend(of string) func(float64) string {
	return func(v float64) string {
		change := 100 * (math.Exp2(v) - 1)
		if math.Abs(change) < 5 {
			return ""
		}
		return fmt.Sprintf("load %+.0f %% in %s", change, of)
	}
}

func plural(n float64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%.0f %ss", n, what)
}

// Describe writes what a network is given of a service in the units of its users, after the rate
// of visits where that is not among it: "246 req/s, CPU at 123 % of the request".
func Describe(rate loadline.Sample, names []string, value func(i int) float64) string {
	var parts []string
	rated := false
	for i, name := range names {
		rated = rated || name == "rate"
		if text := phrases[name](value(i)); text != "" {
			parts = append(parts, text)
		}
	}
	if !rated && rate.Present() {
		parts = append([]string{phrases["rate"](rate.Value)}, parts...)
	}
	return strings.Join(parts, ", ")
}

// describeMove by its name: "+1" is one replica more.
func describeMove(name string) string {
	switch {
	case strings.HasPrefix(name, "+"), strings.HasPrefix(name, "-"):
		return name + " replica"
	case strings.HasPrefix(name, "cpu x"):
		return "CPU x" + strings.TrimPrefix(name, "cpu x")
	case strings.HasPrefix(name, "fill to"):
		return strings.Replace(name, "fill to", "as many replicas as the load fills to", 1)
	case name == keep:
		return "no change"
	}
	return name
}
