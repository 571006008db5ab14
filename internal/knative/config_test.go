package knative

import (
	"strings"
	"testing"
	"time"
)

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig(map[string]string{
		"_example": "ignored", "enable-scale-to-zero": "false", "container-concurrency-target-percentage": "0.8", "stable-window": "30s",
		"scale-to-zero-grace-period": "10s", "target-burst-capacity": "-1", "initial-scale": "2", "min-scale": "1", "max-scale": "9",
		"scale-down-delay": "15s",
	}, map[string]string{"progress-deadline": "2m"})
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultConfig()
	want.ScaleToZero, want.ConcurrencyShare, want.Window, want.Grace, want.BurstCapacity = false, 0.8, 30*time.Second, 10*time.Second, -1
	want.InitialScale, want.MinScale, want.MaxScale, want.Delay, want.ProgressDeadline = 2, 1, 9, 15*time.Second, 2*time.Minute
	if c != want {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	if c, err = ParseConfig(map[string]string{"container-concurrency-target-percentage": "75"}, nil); err != nil || c.ConcurrencyShare != 0.75 {
		t.Errorf("%v, %v", c.ConcurrencyShare, err)
	}
}

// TestParseConfigFaults: each fault is reported with the key, the value and what is accepted, and leaves
// the default.
func TestParseConfigFaults(t *testing.T) {
	c, err := ParseConfig(map[string]string{"stable-window": "1", "min-scale": "-1", "target-burst-capacity": "NaN",
		"max-scale-down-rate": "1", "enable-scale-to-zero": "maybe"}, nil)
	if c != DefaultConfig() {
		t.Errorf("%+v", c)
	}
	for _, part := range []string{`stable-window is "1": must be a duration`, `min-scale is "-1": must be a whole number`,
		`target-burst-capacity is "NaN": must be a number`, "max-scale-down-rate is 1: must be from 1.01",
		`enable-scale-to-zero is "maybe": must be true or false`} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}

func TestSettingsOf(t *testing.T) {
	for _, row := range []struct {
		name        string
		annotations []string
		concurrency int64
		check       func(s Settings) bool
	}{
		{"without annotations it is the cluster's", nil, 0, func(s Settings) bool {
			return s.Metric == "concurrency" && s.Target == 100 && s.Share == 0.7 && s.Initial == 1 && s.BurstCapacity == 211
		}},
		{"a container's concurrency is the target", nil, 10, func(s Settings) bool { return s.Target == 10 }},
		{"a target above it would never be reached", []string{"target=50"}, 10, func(s Settings) bool { return s.Target == 10 }},
		{"a target below it counts", []string{"target=5", "target-utilization-percentage=50"}, 10,
			func(s Settings) bool { return s.Target == 5 && s.Share == 0.5 }},
		{"requests per second", []string{"metric=rps", "target=150"}, 10,
			func(s Settings) bool { return s.Metric == "rps" && s.Target == 150 && s.Share == 0.7 }},
		{"the older spelling counts as well", []string{"minScale=2", "maxScale=5", "initialScale=3"}, 0,
			func(s Settings) bool { return s.Min == 2 && s.Max == 5 && s.Initial == 3 }},
		{"an initial scale of zero needs the cluster's consent", []string{"initial-scale=0"}, 0, func(s Settings) bool { return s.Initial == 1 }},
	} {
		t.Run(row.name, func(t *testing.T) {
			pa := revision("", 0, false, row.annotations...)
			pa.Spec.ContainerConcurrency = row.concurrency
			s, err := SettingsOf(pa, DefaultConfig())
			if err != nil || !row.check(s) {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	s, err := SettingsOf(revision("", 0, false, "metric=cpu", "min-scale=x"), DefaultConfig())
	if err == nil || !strings.Contains(err.Error(), `autoscaling.knative.dev/metric is "cpu"`) ||
		!strings.Contains(err.Error(), `autoscaling.knative.dev/min-scale is "x"`) || s.Min != 0 || s.Metric != "concurrency" {
		t.Errorf("%+v, %v", s, err)
	}
}
