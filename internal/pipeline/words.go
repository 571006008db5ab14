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

// RuleName is a rule in readable form: "HPA at 62 %, CPU limits lifted".
func RuleName(spec string) string {
	if name, settings, _ := strings.Cut(spec, ":"); name == "by-service" {
		return byServiceName(settings)
	}
	text := scalingName(spec)
	if text == spec {
		return spec
	}
	words := settingsOf(spec)
	switch l := words["limits"]; l {
	case "", "keep":
	case "lifted":
		text += ", CPU limits lifted"
	default:
		text += ", CPU limits " + l
	}
	if r := words["request"]; r != "" && r != "keep" {
		text += ", CPU requests " + r
	}
	return text
}

// scalingName is how a rule scales, without the sizes of pods; the rule itself where there are no
// words for it.
func scalingName(spec string) string {
	name, settings, _ := strings.Cut(spec, ":")
	words := settingsOf(spec)
	var text string
	switch {
	case name == "hpa":
		target := words["target"]
		if target == "" && !strings.Contains(settings, "-target=") {
			target = "80"
		}
		if target == "" || target == "off" {
			return spec
		}
		text = "HPA at " + target + " %"
	case name == "keda" && words["share"] != "" && words["threshold"] == "":
		share, _ := strconv.ParseFloat(words["share"], 64)
		text = fmt.Sprintf("KEDA at %g %% of the requests that a CPU request serves", math.Round(1000*share)/10)
	default:
		return spec
	}
	var with []string
	if w := words["down-window"]; w != "" && w != "300s" && w != "5m" && w != "5m0s" {
		with = append(with, "a scale-down window of "+w)
	}
	if up := words["up-policies"]; up != "" && up != "4/15s+100%/15s" {
		with = append(with, "scale-up by "+strings.ReplaceAll(up, "+", " or "))
	}
	if floor := words["floor"]; floor != "" && floor != "off" {
		with = append(with, "least replicas by the clock")
	}
	if r := words["reserve"]; r != "" && r != "0" {
		with = append(with, "a reserve of "+r+" cores")
	}
	if len(with) > 0 {
		text += " with " + enumerated(with, len(with))
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
