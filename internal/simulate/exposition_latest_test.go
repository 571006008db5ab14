package simulate

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim"
)

func TestLatestIsTheEndOfTheWholeText(t *testing.T) {
	model, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	whole, live := NewExposition(model.App, "shop"), NewExposition(model.App, "shop")
	var latest bytes.Buffer
	_, err = Run(context.Background(), Spec{
		App: model.App, Load: constant(20), Policy: "hpa", Engine: "fluid", Duration: 10 * time.Minute, Seed: 1,
		Hooks: Hooks{Scrape: func(reading *sim.Reading, cp *sim.ControlPlane) {
			whole.Watch(reading, cp)
			live.Watch(reading, cp)
			latest.Reset()
			if err := live.WriteLatest(&latest, "istio_", "container_"); err != nil {
				t.Fatal(err)
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := whole.Write(&text); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	var newest float64
	for _, s := range parse(t, text.String()) {
		newest = max(newest, s.at)
	}
	for line := range strings.Lines(text.String()) {
		fields := strings.Fields(line)
		name := fields[0]
		if len(fields) == 3 && strings.HasPrefix(name, "istio_") || strings.HasPrefix(name, "container_") {
			if at := parse(t, line)[0].at; at == newest {
				want[name] = fields[1]
			}
		}
	}
	got := map[string]string{}
	for line := range strings.Lines(latest.String()) {
		if fields := strings.Fields(line); !strings.HasPrefix(line, "#") {
			got[fields[0]] = fields[1]
		}
	}
	if len(got) < 50 || len(got) != len(want) {
		t.Fatalf("%d series of the last scrape, want %d", len(got), len(want))
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %s, want %s", name, got[name], value)
		}
	}
}

func TestLatestOfNothing(t *testing.T) {
	model, err := apps.Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	if err := NewExposition(model.App, "shop").WriteLatest(new(bytes.Buffer)); err == nil {
		t.Error("nothing was scraped, and no error")
	}
}
