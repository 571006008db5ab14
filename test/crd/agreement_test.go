package crd

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/loadline/loadline/internal/resource"
)

// Every guard setting that the schema accepts, the guard accepts: no resource is accepted by
// the API server and rejected by the controller for a figure.
func TestSchemaIsNotLaxerThanTheGuard(t *testing.T) {
	s := newServer(t)
	var spans, numbers []string
	walk(s.structural, "", func(path string, at *structuralschema.Structural) {
		if !strings.HasPrefix(path, "spec.guard.") {
			return
		}
		path = strings.ReplaceAll(path, "[]", "[0]")
		switch {
		case at.Type == "string" && slices.ContainsFunc(at.XValidations,
			func(r apiextensionsv1.ValidationRule) bool { return isFormat(r.Message) }):
			spans = append(spans, path)
		case at.Type == "integer" || at.XIntOrString:
			numbers = append(numbers, path)
		}
	})
	slices.Sort(spans)
	slices.Sort(numbers)
	if len(spans) < 15 || len(numbers) < 15 {
		t.Fatalf("only %d spans and %d numbers", len(spans), len(numbers))
	}
	someSpans := []string{"0s", "1ms", "9s", "10s", "1m", "2m", "10m", "15m", "4h", "24h", "25h", "168h", "169h", "720h"}
	someNumbers := []string{"0", `"0.0005"`, `"0.001"`, `"0.01"`, `"0.5"`, `"0.99"`, "1", `"1.01"`, "2", "3", "25", "100", "101",
		"1000", "1001", "10000", "1000000", "1000001"}
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string) string { return from[rng.IntN(len(from))] }
	taken := 0
	short := least(t)
	guards := everything(t)["spec"].(map[string]any)["guard"]
	for range 1500 {
		object := deepCopy(short).(map[string]any)
		object["spec"].(map[string]any)["guard"] = deepCopy(guards)
		var changed []string
		for range 1 + rng.IntN(3) {
			line := pick(spans) + ": " + pick(someSpans)
			if rng.IntN(2) == 0 {
				line = pick(numbers) + ": " + pick(someNumbers)
			}
			changed = append(changed, line)
		}
		edit(t, object, strings.Join(changed, "\n"))
		if len(s.take(object)) > 0 {
			continue
		}
		taken++
		if _, err := resource.Read(typed(t, object), nil); err != nil {
			t.Errorf("the schema takes what the guard refuses: %v\n%v", changed, err)
		}
	}
	if taken < 300 {
		t.Errorf("only %d were taken: nothing is proven", taken)
	}
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := maps.Clone(v)
		for k := range c {
			c[k] = deepCopy(c[k])
		}
		return c
	case []any:
		c := slices.Clone(v)
		for i := range c {
			c[i] = deepCopy(c[i])
		}
		return c
	}
	return v
}
