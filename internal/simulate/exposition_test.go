package simulate

import (
	"bufio"
	"bytes"
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim"
)

// constant load on the first kind.
type constant float64

func (c constant) Rate(kind int, _ time.Duration) (float64, time.Duration) {
	if kind > 0 {
		return 0, sim.Never
	}
	return float64(c), sim.Never
}

// expose simulates ten minutes and returns the text and the last reading.
func expose(t *testing.T, app, engine string) (string, sim.Reading) {
	t.Helper()
	model, err := apps.Load(app)
	if err != nil {
		t.Fatal(err)
	}
	r := NewExposition(model.App, "shop")
	var last sim.Reading
	_, err = Run(context.Background(), Spec{
		App: model.App, Load: constant(20), Policy: "hpa", Engine: engine, Duration: 10 * time.Minute, Seed: 1,
		Hooks: Hooks{Scrape: func(reading *sim.Reading, cp *sim.ControlPlane) {
			r.Watch(reading, cp)
			last.At = reading.At
			last.Services = append(last.Services[:0], reading.Services...)
			last.Calls = append(last.Calls[:0], reading.Calls...)
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); r.Samples() > n || r.Samples() < n-50 {
		t.Errorf("%d samples in %d lines", r.Samples(), n)
	}
	return b.String(), last
}

type sample struct {
	name, labels string
	value, at    float64
}

func parse(t *testing.T, text string) []sample {
	t.Helper()
	var list []sample
	scanner := bufio.NewScanner(strings.NewReader(text))
	for scanner.Scan() {
		line := scanner.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 3 {
			t.Fatalf("line %q", line)
		}
		name, labels, _ := strings.Cut(fields[0], "{")
		value, err := strconv.ParseFloat(fields[1], 64)
		at, err2 := strconv.ParseFloat(fields[2], 64)
		if err != nil || err2 != nil || math.IsNaN(value) {
			t.Fatalf("line %q", line)
		}
		list = append(list, sample{name, labels, value, at})
	}
	return list
}

func TestExpositionAgreesWithTheReadings(t *testing.T) {
	for _, run := range [][2]string{{"bookinfo", "event"}, {"bookinfo", "fluid"}, {"boutique", "event"}, {"sockshop", "fluid"}} {
		t.Run(run[0]+" in the "+run[1]+" engine", func(t *testing.T) {
			text, last := expose(t, run[0], run[1])
			model, err := apps.Load(run[0])
			if err != nil {
				t.Fatal(err)
			}
			list := parse(t, text)
			end := float64(sim.Time(last.At).Unix())
			var final []sample
			for _, s := range list {
				if s.at == end {
					final = append(final, s)
				}
			}
			sum := func(name string, labels ...string) float64 {
				total := 0.0
			next:
				for _, s := range final {
					for _, l := range labels {
						if !strings.Contains(s.labels, l) {
							continue next
						}
					}
					if s.name == name {
						total += s.value
					}
				}
				return total
			}
			near := func(what string, got, want float64) {
				t.Helper()
				if math.Abs(got-want) > 1e-6*math.Abs(want)+1e-6 {
					t.Errorf("%s is %v, want %v", what, got, want)
				}
			}
			for i, s := range model.App.Services {
				to := `destination_workload="` + s.Name + `"`
				reading := last.Services[i]
				near(s.Name+" requests", sum("istio_requests_total", to, `reporter="destination"`), reading.Ended)
				near(s.Name+" count", sum("istio_request_duration_milliseconds_count", to, `reporter="destination"`),
					reading.Latency.Count)
				near(s.Name+" buckets", sum("istio_request_duration_milliseconds_bucket", to, `reporter="destination"`, `le="+Inf"`),
					reading.Latency.Count)
				near(s.Name+" time", sum("istio_request_duration_milliseconds_sum", to, `reporter="destination"`),
					1000*reading.Latency.SumSeconds)
				pod := `pod="` + replicaSet(s.Name) + "-"
				near(s.Name+" memory", sum("container_memory_working_set_bytes", pod), reading.Of[loadline.ServiceMemory])
			}
			for i, e := range sim.Edges(model.App) {
				from, to := `source_workload="`+model.App.Services[e.From].Name+`"`, `destination_workload="`+
					model.App.Services[e.To].Name+`"`
				made := last.Calls[i].Count
				near("calls", sum("istio_requests_total", `reporter="source"`, from, to), made)
				if got := sum("istio_requests_total", `reporter="destination"`, from, to); math.Abs(got-made) > 0.02*made+2 {
					t.Errorf("calls %s, %s: %v as the callee sees them, %v as the caller does", from, to, got, made)
				}
			}
			checkCounters(t, list)
		})
	}
}

// checkCounters: none goes down, and buckets grow with their bounds.
func checkCounters(t *testing.T, list []sample) {
	t.Helper()
	last := map[string]sample{}
	for _, s := range list {
		if !strings.HasSuffix(s.name, "_total") && !strings.HasSuffix(s.name, "_bucket") {
			continue
		}
		key := s.name + s.labels
		if before, seen := last[key]; seen && (s.value < before.value || s.at <= before.at) {
			t.Fatalf("%s goes from %v to %v", key, before, s)
		}
		last[key] = s
	}
}

func TestPromtoolTakesIt(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: apt-get install --no-install-recommends prometheus")
	}
	for _, engine := range Engines() {
		text, _ := expose(t, "single", engine)
		dir := t.TempDir()
		file := filepath.Join(dir, "metrics.txt")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(promtool, "tsdb", "create-blocks-from", "openmetrics", file,
			filepath.Join(dir, "data")).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", engine, err, out)
		}
		if blocks, err := filepath.Glob(filepath.Join(dir, "data", "*", "meta.json")); err != nil || len(blocks) == 0 {
			t.Errorf("%s: no blocks", engine)
		}
	}
}

func TestShareWithin(t *testing.T) {
	l := &sim.LatencyReading{P50: 0.1, P90: 0.2, P95: 0.3, P99: 0.4}
	for seconds, want := range map[float64]float64{0: 0, 0.05: 0.25, 0.1: 0.5, 0.15: 0.7, 0.3: 0.95, 0.5: 0.995, 1: 1} {
		if got := shareWithin(l, seconds); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v s: %v, want %v", seconds, got, want)
		}
	}
	if got := shareWithin(&sim.LatencyReading{P50: math.NaN()}, 1); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestNothingScraped(t *testing.T) {
	model, err := apps.Load("single")
	if err != nil {
		t.Fatal(err)
	}
	if err := NewExposition(model.App, "shop").Write(&bytes.Buffer{}); err == nil {
		t.Error("no error")
	}
}
