package apps

import (
	"reflect"
	"strings"
	"testing"

	"github.com/loadline/loadline"
)

func TestModelsSurviveWritingAndReading(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			m, err := Load(name)
			if err != nil {
				t.Fatal(err)
			}
			data, err := Encode(m.App, Origin{Name: "twin", Kind: Measured, Source: "a test"})
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse("again.yaml", data)
			if err != nil {
				t.Fatalf("%v\n%s", err, data)
			}
			if !reflect.DeepEqual(m.App, again.App) {
				t.Errorf("the application changed:\n%s", data)
			}
			if r := Check(again); r.Shares[Measured] != r.Figures {
				t.Errorf("of %d figures %d carry the origin: %v", r.Figures, r.Shares[Measured], r.Shares)
			}
		})
	}
}

func TestStartUpCPUIsReadAndWritten(t *testing.T) {
	app := parseShop(t, "startup: 1s\n    replicas", "startup: 1s\n    startupCPU: 1500m\n    replicas").App
	if got := app.Services[0].StartupCPU; got != 1.5 || app.Services[1].StartupCPU != 0 {
		t.Fatalf("start-up CPU %v and %v, want 1.5 and 0", got, app.Services[1].StartupCPU)
	}
	data, err := Encode(app)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("again.yaml", data)
	if err != nil || !reflect.DeepEqual(app, again.App) {
		t.Errorf("%v: the application changed:\n%s", err, data)
	}
	app.Services[0].StartupCPU = -1
	if err := Validate(app); err == nil || !strings.Contains(err.Error(), "services.front.startupCPU") {
		t.Errorf("a negative start-up CPU: %v", err)
	}
}

func TestValidateChecksApplicationsFromElsewhere(t *testing.T) {
	m, err := Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	if err := Validate(m.App); err != nil {
		t.Errorf("a sound application: %v", err)
	}
	app := *m.App
	app.Services = append([]loadline.Service(nil), app.Services...)
	app.Services[1].Workers = 0
	if err := Validate(&app); err == nil || !strings.Contains(err.Error(), "services.details.workers") {
		t.Errorf("no workers: %v", err)
	}
	app.Kinds = []loadline.Kind{{Name: "k", Root: plainCall(99)}}
	if err := Validate(&app); err == nil || !strings.Contains(err.Error(), "service 99 of 4") {
		t.Errorf("a call to nowhere: %v", err)
	}
}
