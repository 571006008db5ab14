package pipeline

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/loadline/loadline/internal/result"
)

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// RuleName is a rule in readable form: "HPA at 62 %".
func RuleName(spec string) string {
	name, settings, _ := strings.Cut(spec, ":")
	if name == "by-service" {
		return byServiceName(settings)
	}
	words := settingsOf(spec)
	target := words["target"]
	if target == "" && !strings.Contains(settings, "-target=") {
		target = "80"
	}
	if name != "hpa" || target == "" || target == "off" {
		return spec
	}
	text := "HPA at " + target + " %"
	if w := words["down-window"]; w != "" && w != "300s" && w != "5m" && w != "5m0s" {
		text += " with a scale-down window of " + w
	}
	if words["limits"] == "lifted" {
		text += ", CPU limits lifted"
	}
	if r := words["request"]; r != "" && r != "keep" {
		text += ", CPU requests " + r
	}
	return text
}

// byServiceName names the rules of each service: "HPA at 60 % for web, keda:threshold=20 for cart".
func byServiceName(settings string) string {
	var all, others []string
	for _, field := range strings.Split(settings, ",") {
		service, rules, _ := strings.Cut(field, "=")
		var names []string
		for _, rule := range strings.Split(rules, "|") {
			rule = strings.TrimSuffix(strings.Replace(rule, "(", ":", 1), ")")
			names = append(names, RuleName(strings.ReplaceAll(rule, ";", ",")))
		}
		switch text := strings.Join(names, " with "); {
		case service == "others" && text == "static":
			others = []string{"nothing for the others"}
		case service == "others":
			others = []string{text + " for the others"}
		default:
			all = append(all, text+" for "+service)
		}
	}
	return strings.Join(append(all, others...), ", ")
}

func settingsOf(spec string) map[string]string {
	_, settings, _ := strings.Cut(spec, ":")
	words := map[string]string{}
	for _, field := range strings.Split(settings, ",") {
		if key, value, ok := strings.Cut(field, "="); ok {
			words[key] = value
		}
	}
	return words
}

// targetOf an HPA, in percent; 0 = none.
func targetOf(spec string) float64 {
	if nameOf(spec) != "hpa" {
		return 0
	}
	target, _ := strconv.ParseFloat(settingsOf(spec)["target"], 64)
	return target
}

func percentOf(share result.Number) string { return fmt.Sprintf("%.1f %%", 100*float64(share)) }

func signed(share result.Number) string { return fmt.Sprintf("%+.1f %%", 100*float64(share)) }

// rangeOf the savings (sign -1) or of the additional cost.
func rangeOf(d *Difference, sign float64) string {
	if d.Pairs < minPairs {
		return fmt.Sprintf("no interval from %d runs", d.Pairs)
	}
	low, high := sign*100*float64(d.Low), sign*100*float64(d.High)
	return fmt.Sprintf("%.1f to %.1f %%", min(low, high), max(low, high))
}

func money(v result.Number) string {
	if math.Abs(float64(v)) < 100 {
		return fmt.Sprintf("%.2f", float64(v))
	}
	return fmt.Sprintf("%.0f", float64(v))
}

// joined lists the first few of many, separated by semicolons.
func joined(all []string, most int) string {
	if len(all) > most {
		return strings.Join(all[:most], "; ") + fmt.Sprintf("; and %d more", len(all)-most)
	}
	return strings.Join(all, "; ")
}
