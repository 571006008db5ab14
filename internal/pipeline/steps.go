package pipeline

import (
	"fmt"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy"
)

// steps of a change from today's deployment to another, as a user makes them: "HPA at 80 % to HPA at
// 103 %, lower the CPU request of web from 500m to 320m, lift the CPU limit of web".
func (c contest) steps(to *Entry) string {
	var sizes []string
	if c.e.app != nil {
		sizes = sizeSteps(c.e.app, c.today.Policy, to.Policy)
	}
	if len(sizes) == 0 {
		return c.name(c.today) + " to " + c.name(to)
	}
	if scalingName(c.today.Policy) == scalingName(to.Policy) { // sizes change, not how it scales
		return fmt.Sprintf("CPU sizes under %s (%s)", c.name(c.today), strings.Join(sizes, ", "))
	}
	return c.name(c.today) + " to " + scalingName(to.Policy) + ", " + strings.Join(sizes, ", ")
}

// mostNamed is how many services a step names; more are counted.
const mostNamed = 4

// sizeSteps are the changes of CPU requests and limits between two rules.
func sizeSteps(app *loadline.App, from, to string) []string {
	var lower, raise, lift, limits []string
	for i := range app.Services {
		s := &app.Services[i]
		was, is := policy.SizeUnder(settingsOf(from)["request"], settingsOf(from)["limits"], s),
			policy.SizeUnder(settingsOf(to)["request"], settingsOf(to)["limits"], s)
		change := fmt.Sprintf("%s from %s to %s", s.Name, millicores(was.CPURequest), millicores(is.CPURequest))
		switch {
		case is.CPURequest < was.CPURequest:
			lower = append(lower, change)
		case is.CPURequest > was.CPURequest:
			raise = append(raise, change)
		}
		switch {
		case is.CPULimit == was.CPULimit:
		case is.CPULimit == 0 || settingsOf(to)["limits"] == "lifted":
			lift = append(lift, s.Name)
		default:
			limits = append(limits, fmt.Sprintf("%s from %s to %s", s.Name, millicores(was.CPULimit), millicores(is.CPULimit)))
		}
	}
	var all []string
	for _, step := range []struct {
		verb     string
		services []string
	}{
		{"lower the CPU request of", lower}, {"raise the CPU request of", raise}, {"lift the CPU limit of", lift},
		{"raise the CPU limit of", limits},
	} {
		if len(step.services) > 0 {
			all = append(all, step.verb+" "+enumerated(step.services, mostNamed))
		}
	}
	return all
}

func millicores(cores float64) string {
	if cores <= 0 {
		return "none"
	}
	return fmt.Sprintf("%.0fm", 1000*cores)
}

// enumerated lists some, and counts the others: "a, b and 3 more".
func enumerated(all []string, most int) string {
	switch n := len(all); {
	case n > most:
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), n-most)
	case n > 1:
		return strings.Join(all[:n-1], ", ") + " and " + all[n-1]
	}
	return strings.Join(all, "")
}
