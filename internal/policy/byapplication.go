package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/suggest"
)

// byApplication is the notation of a policy for each application of a cluster:
// "by-application:shop=hpa(target=60;down-window=60s),info=planner". Within the parentheses settings
// are separated by semicolons, and may have parentheses themselves. It is no method: every
// application has a policy and a loop of its own (internal/simulate).
const byApplication = "by-application:"

// EachApplication are the policies of the applications that are joined in one, in their order: one
// that is not by application is the policy of each of them.
func EachApplication(spec string, app *loadline.App) ([]string, error) {
	tenants := app.TenantRanges()
	specs := make([]string, len(tenants))
	settings, by := strings.CutPrefix(spec, byApplication)
	if !by {
		for i := range specs {
			specs[i] = spec
		}
		return specs, nil
	}
	names := make([]string, len(tenants))
	for i, t := range tenants {
		names[i] = t.Name
	}
	var faults []error
	for _, field := range splitOutside(settings, ',') {
		name, nested, _ := strings.Cut(field, "=")
		i := slices.Index(names, name)
		one, err := unnestAny(nested)
		switch {
		case i < 0:
			faults = append(faults, fmt.Errorf("by-application: no application is named %q%s", name, suggest.Hint(name, names)))
		case specs[i] != "":
			faults = append(faults, fmt.Errorf("by-application: application %q is given twice", name))
		case err != nil:
			faults = append(faults, fmt.Errorf("by-application: %s: %w", name, err))
		default:
			specs[i] = one
		}
	}
	for i := range specs {
		if specs[i] == "" && len(faults) == 0 {
			faults = append(faults, fmt.Errorf("by-application: application %q has no policy", names[i]))
		}
	}
	return specs, errors.Join(faults...)
}

// JoinApplications is the inverse of EachApplication.
func JoinApplications(app *loadline.App, specs []string) string {
	if !slices.ContainsFunc(specs, func(s string) bool { return s != specs[0] }) {
		return specs[0]
	}
	var fields []string
	for i, t := range app.TenantRanges() {
		fields = append(fields, t.Name+"="+nest(specs[i]))
	}
	return byApplication + strings.Join(fields, ",")
}

// unnestAny is the inverse of nest, of any method. Semicolons within further parentheses stay.
func unnestAny(text string) (string, error) {
	name, settings, has := strings.Cut(text, "(")
	if !has && name != "" {
		return name, nil
	}
	settings, closed := strings.CutSuffix(settings, ")")
	if !closed || name == "" {
		return "", fmt.Errorf("%q must be like hpa(target=60;down-window=60s)", text)
	}
	return name + ":" + strings.Join(splitOutside(settings, ';'), ","), nil
}

// splitOutside splits a text at a separator that is outside parentheses.
func splitOutside(text string, separator rune) []string {
	depth, from := 0, 0
	var parts []string
	for i, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == separator && depth == 0:
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return append(parts, text[from:])
}
