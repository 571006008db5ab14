package kedascaler

import (
	"strings"
	"testing"
)

func TestParseTrigger(t *testing.T) {
	so := Name{"shop", "checkout"}
	for _, c := range []struct {
		name     string
		metadata map[string]string
		want     trigger
	}{
		{"nothing is said", nil, trigger{Target: Target{ScaledObject: so}}},
		{"a LoadLine elsewhere", map[string]string{"loadline": "web/main", "service": "cart"},
			trigger{Target: Target{so, Name{"web", "main"}, "cart"}}},
		{"a LoadLine beside the ScaledObject", map[string]string{"loadline": "main"},
			trigger{Target: Target{so, Name{"shop", "main"}, ""}}},
		{"KEDA's own keys and strange ones are passed over",
			map[string]string{"scalerAddress": "loadline:9092", "enableTLS": "true", "unsafeSsl": "false", "somethingOfALaterKEDA": "7"},
			trigger{Target: Target{ScaledObject: so}}},
		{"overshoot", map[string]string{"tolerance": "overshoot"}, trigger{Target: Target{ScaledObject: so},
			tolerance: beyondTolerance}},
		{"tolerance zero", map[string]string{"tolerance": "zero"}, trigger{Target: Target{ScaledObject: so}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseTrigger(so.Namespace, so.Name, c.metadata)
			if err != nil || got != c.want {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestParseTriggerRefuses(t *testing.T) {
	for _, c := range []struct {
		name     string
		metadata map[string]string
		says     []string
	}{
		{"a key with a slip", map[string]string{"servce": "cart"}, []string{`"servce"`, `did you mean "service"`}},
		{"a key in capitals", map[string]string{"LoadLine": "a/b"}, []string{`"LoadLine"`, `did you mean "loadline"`}},
		{"no name of a LoadLine", map[string]string{"loadline": "a/b/c"}, []string{`"loadline"`, `"a/b/c"`, "NAMESPACE/NAME"}},
		{"half a name", map[string]string{"loadline": "a/"}, []string{`"a/"`}},
		{"capitals in a name", map[string]string{"loadline": "Shop"}, []string{`"Shop"`}},
		{"an empty service", map[string]string{"service": ""}, []string{`"service"`}},
		{"an unknown tolerance", map[string]string{"tolerance": "overshot"}, []string{`"overshot"`, `did you mean "overshoot"`}},
		{"every fault at once", map[string]string{"tolerance": "0", "service": " "}, []string{`"tolerance"`, `"service"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseTrigger("shop", "checkout", c.metadata)
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
	if _, err := parseTrigger("", "checkout", nil); err == nil {
		t.Error("a ScaledObject without a namespace was taken")
	}
}

func FuzzParseTrigger(f *testing.F) {
	f.Add("shop", "checkout", "loadline", "web/main", "service", "cart")
	f.Add("shop", "checkout", "tolerance", "overshoot", "scalerAddress", "x:1")
	f.Add("", "", "", "", "servce", "\x00")
	f.Fuzz(func(t *testing.T, namespace, name, k1, v1, k2, v2 string) {
		got, err := parseTrigger(namespace, name, map[string]string{k1: v1, k2: v2})
		if err != nil {
			if got != (trigger{}) {
				t.Errorf("an error with a result: %+v, %v", got, err)
			}
			return
		}
		if got.ScaledObject != (Name{namespace, name}) || !objectName(namespace) || !objectName(name) {
			t.Errorf("asked for by %q in %q, understood %+v", name, namespace, got)
		}
		if got.LoadLine != (Name{}) && (!objectName(got.LoadLine.Namespace) || !objectName(got.LoadLine.Name)) {
			t.Errorf("LoadLine %+v cannot be", got.LoadLine)
		}
		said := map[string]string{"tolerance": tolerances[got.tolerance]}
		if got.LoadLine != (Name{}) {
			said["loadline"] = got.LoadLine.String()
		}
		if got.Service != "" {
			said["service"] = got.Service
		}
		if again, err := parseTrigger(namespace, name, said); err != nil || again != got {
			t.Errorf("%+v said again is %+v, %v", got, again, err)
		}
	})
}
