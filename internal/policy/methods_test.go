package policy_test

import (
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/policy/policytest"
)

func TestNewNamesEveryFaultAtOnce(t *testing.T) {
	for spec, wants := range map[string][]string{
		"hps":                                {`unknown policy "hps"; did you mean "hpa"?`, "static"},
		"":                                   {`unknown policy ""`, "known: static, hpa, keda, phpa, sre, kpa, hybrid-histogram, vpa, hpa+vpa, ursa, autothrottle"},
		"hpa:traget=80":                      {`unknown setting "traget"; did you mean "target"?`},
		"hpa:target=zero,down-window=5":      {"target=zero: must be a number from 1 to 1000", "down-window=5: must be a time"},
		"hpa:target":                         {`"target" must be key=value`},
		"hpa:target=50,target=60":            {`"target" is given twice`},
		"hpa:up-policies=4":                  {`must be pods or percent per period`},
		"hpa:up-select=most":                 {"must be one of max, min, disabled"},
		"hpa:request=p0":                     {"must be keep, a percentile from p1 to p100"},
		"hpa:request=s0:0.1+s9:0.2":          {`request names service "s9"`},
		"hpa:floor=8-20:5":                   {"must be times of a day and replicas"},
		"hpa:floor=08:00-08:00:5":            {"must be times of a day and replicas"},
		"hpa:floor=08:00-20:00:s9:5":         {`floor names service "s9"`},
		"keda:limits=none,s1=x":              {"limits=none: must be keep, lifted, or cores by service", "s1=x: must be a number"},
		"hpa:target=off":                     {"leaves no metric"},
		"hpa:target=none":                    {"must be a number from 1 to 1000, or off"},
		"vpa:cpu=off,memory=off":             {"leaves nothing to size"},
		"hpa+vpa:cpu=on,memory-target=80":    {"HPA on CPU utilisation", "memory=on with memory-target"},
		"by-service:s0=hpa(target=x),s1=hpb": {`"hpb" must be one of static, hpa`},
		"by-service:s0=hpa(target=60":        {"must be like hpa(target=60;down-window=60s)"},
		"by-service:s0=hpa(target=x)":        {"policy hpa: target=x: must be a number"},
		"by-service:s9=hpa":                  {`unknown setting "s9"`},
		"static:s9=2":                        {`unknown setting "s9"`, `did you mean "s0"`},
		"static:s1=many":                     {"must be a whole number"},
	} {
		_, err := policy.New(spec, policytest.App())
		if err == nil {
			t.Errorf("%q: no error", spec)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %q does not say %q", spec, err, want)
			}
		}
	}
}

func TestDefaultsOfEveryOptionAreValid(t *testing.T) {
	for _, info := range policy.List() {
		if info.About == "" {
			t.Errorf("%s says nothing about itself", info.Name)
		}
		for _, o := range info.Options {
			if o.Default != "" && o.Check(o.Default) != nil || o.About == "" {
				t.Errorf("%s: option %+v", info.Name, o)
			}
		}
	}
}

// FuzzNew: any text gives a policy or an error, and a policy can decide.
func FuzzNew(f *testing.F) {
	for _, spec := range append(contractSpecs, "hpa:up-policies=4/15s+10%/1m,up-select=min", "hpa:target=NaN", "static:s1=-1", ":",
		"hpa:,=") {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		p, err := policy.New(spec, policytest.App())
		if (p == nil) == (err == nil) {
			t.Fatalf("policy %v, error %v", p, err)
		}
		if err == nil && p.Needs().Period <= 0 {
			t.Errorf("period %v", p.Needs().Period)
		}
	})
}
