package resource_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/resource"
)

// FuzzRead: any text is a LoadLine or not; a LoadLine gives an application or an error that says why
// not, and an application can be guarded. The API server checks far more, but it may have an older
// definition, and `loadline run --once` reads files.
func FuzzRead(f *testing.F) {
	samples, err := filepath.Glob("../../deploy/samples/*.yaml")
	if err != nil || len(samples) == 0 {
		f.Fatalf("%v, %v", samples, err)
	}
	for _, sample := range samples {
		text, err := os.ReadFile(sample)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, true)
	}
	f.Add([]byte("spec:"+strings.ReplaceAll(plain, "\n", "\n  ")), false)
	f.Add([]byte(`{"metadata":{"name":"a"},"spec":{"services":[{"name":"web","targetRef":{"name":"web"},`+
		`"bounds":{"replicas":{"min":5,"max":1}}}],`+
		`"objectives":[{"latency":"-1s","percentile":"101"}],"guard":{"steps":{"replicas":{"up":"NaN"}}},"policy":{"baseline":"hpa:"}}}`), false)
	f.Add([]byte(`{"spec":{"objectives":[{"latency":"1s"}],"services":[{"name":"web","targetRef":{"name":"web"},`+
		`"bounds":{"cpu":{"min":"1e30",`+
		`"max":"1E"},"replicas":{"max":2147483647}},"optional":{"price":"1e308"}}],"interval":"0s"}}`), true)
	twin := chain()
	f.Fuzz(func(t *testing.T, text []byte, withTwin bool) {
		l, ok := parse(text)
		if !ok {
			return
		}
		var app *loadline.App
		if withTwin {
			app = twin
		}
		a, err := resource.Read(l, app)
		if (a == nil) == (err == nil) {
			t.Fatalf("application %v, error %v", a, err)
		}
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a text")
			}
			return
		}
		if len(a.Targets) != len(a.App.Services) || len(a.Sources) != len(a.App.Kinds) || len(a.Axes) != len(a.App.Services) ||
			a.Needs.Period <= 0 {
			t.Fatalf("%d targets and %d axes of %d services, %d sources of %d kinds, period %v", len(a.Targets), len(a.Axes),
				len(a.App.Services), len(a.Sources), len(a.App.Kinds), a.Needs.Period)
		}
		if _, err := guard.Around(a.Guard, a.App, nil, &mute{}); err != nil {
			t.Fatalf("it was accepted, and cannot be guarded: %v", err)
		}
		resource.Recall(&l.Status)
		resource.State(l.Status.Ladder)
	})
}

// parse reads YAML or JSON as the API server does: YAML becomes JSON first.
func parse(text []byte) (*v1alpha1.LoadLine, bool) {
	var fields map[string]any
	if yaml.Unmarshal(text, &fields) != nil {
		return nil, false
	}
	object, err := json.Marshal(fields)
	if err != nil {
		return nil, false
	}
	var l v1alpha1.LoadLine
	return &l, json.Unmarshal(object, &l) == nil
}

// chain is a twin of the samples' services.
func chain() *loadline.App {
	app := &loadline.App{Name: "shop"}
	for _, name := range []string{"web", "cart"} {
		app.Services = append(app.Services, loadline.Service{Name: name, Replicas: 1, Size: loadline.Size{CPURequest: 1, CPULimit: 1},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 9}})
	}
	app.Kinds = []loadline.Kind{{Name: "get", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 1e9},
		Root: loadline.Call{Probability: 1, Times: 1, Work: 1, Stages: [][]loadline.Call{{{Service: 1, Probability: 1, Times: 1, Work: 1}}}}}}
	return app
}
