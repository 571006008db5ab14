package result

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

var update = flag.Bool("update", false, "rewrite the goldens in testdata")

func sample() Result {
	app := &loadline.App{
		Services: []loadline.Service{{Name: "web"}, {Name: "database"}},
		Kinds: []loadline.Kind{
			{Name: "get", SLO: loadline.SLO{Percentile: 99, Latency: 100 * time.Millisecond}},
			{Name: "never", SLO: loadline.SLO{Percentile: 95, Latency: time.Second}},
		},
	}
	m := sim.NewMeter(app, time.Second)
	for i := range 1000 {
		at := time.Duration(i) * 100 * time.Millisecond
		took := time.Duration(20+i%50) * time.Millisecond
		if i%200 == 199 {
			took = 150 * time.Millisecond
		}
		if i%500 == 499 {
			m.Failed(0, at, at+took)
		} else {
			m.Completed(0, at, at+took)
		}
	}
	m.Finish()
	m.ReplicaSeconds, m.Changes = 300, 4
	m.Bill, m.NodeSeconds, m.NodeCoreSeconds, m.AllocatedCoreSeconds, m.UsedCoreSeconds = 1.234, 25560, 102240, 72360, 29880
	m.Services[0] = sim.ServiceMeter{
		Arrived: 1000, Ended: 1000, Failed: 2, CPUSeconds: 10, Periods: 100, ThrottledPeriods: 7,
		Latency: m.Services[0].Latency, CoreSeconds: 50, ByteSeconds: 1 << 35, ReplicaSeconds: 200, Changes: 4,
	}
	m.Services[1].OptionalAsked, m.Services[1].OptionalDropped = 10, 1
	return Of(Run{Policy: "hpa", App: "shop", Workload: "day", Engine: "event", Seed: 7, Duration: 100 * time.Second,
		Cluster: "pool eks-4", Currency: "USD"}, app, m)
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s:\n%s", file, got)
	}
}

func TestJSON(t *testing.T) {
	r := sample()
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/result.json", b.Bytes())
	var back Result
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := back.WriteJSON(&again); err != nil || again.String() != b.String() {
		t.Errorf("does not survive being read: %v\n%s", err, again.String())
	}
	if !math.IsNaN(float64(back.Kinds[1].OverSLORatio)) {
		t.Error("a share of nothing is not null")
	}
}

func TestText(t *testing.T) {
	r := sample()
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/result.txt", b.Bytes())
}

func TestVerdict(t *testing.T) {
	r := sample()
	if got := float64(r.OverSLORatio); math.Abs(got-6./990) > 1e-9 {
		t.Errorf("over SLO %v, want 6 of 990", got)
	}
	if !r.SLOMet() || !r.Kinds[0].Met() {
		t.Error("half a percent over a p99 is allowed")
	}
	r.OverSLORatio, r.DegradedRatio, r.Kinds[0].OverSLORatio = 0.011, 0.011, 0.011
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if r.SLOMet() || !strings.Contains(b.String(), "VIOLATED") || !strings.Contains(b.String(), "does not count") {
		t.Errorf("1.1 %% over passed:\n%s", b.String())
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[Number]string{
		0: "0", 0.1: "0.1", Number(0.1 + 0.2): "0.3", 8640000: "8640000", 123456789012: "123456789000",
		1e-9: "1e-09", Number(math.NaN()): "null", Number(math.Inf(1)): "null",
	} {
		if got, err := v.MarshalJSON(); err != nil || string(got) != want {
			t.Errorf("%v: %s, %v, want %s", float64(v), got, err, want)
		}
	}
}

func TestShortDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		24 * time.Hour: "24h", 90 * time.Minute: "1h30m", 10 * time.Minute: "10m", 10 * time.Second: "10s", 130 * time.Second: "2m10s",
	} {
		if got := shortDuration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestMoney(t *testing.T) {
	for _, row := range []struct {
		amount   Number
		currency string
		want     string
	}{{1.234, "USD", "$1.23"}, {1.234, "", "$1.23"}, {0.0123, "EUR", "€0.0123"}, {0, "GBP", "£0.00"}, {120, "CHF", "CHF 120.00"},
		{Number(math.NaN()), "USD", "-"}} {
		if got := Money(row.amount, row.currency); got != row.want {
			t.Errorf("%v %s is %q, want %q", row.amount, row.currency, got, row.want)
		}
	}
}

// Requests that users who left have not sent are over the SLO, and have not failed.
func TestUsersWhoLeftCount(t *testing.T) {
	app := &loadline.App{Kinds: []loadline.Kind{{Name: "get", SLO: loadline.SLO{Percentile: 99, Latency: time.Second}}}}
	m := sim.NewMeter(app, time.Second)
	m.Left(0, 0, 100) // during the warm-up
	for i := range 16 {
		at := time.Duration(2+i) * time.Second
		m.Completed(0, at, at+time.Millisecond)
	}
	m.Left(0, 20*time.Second, 4)
	m.Finish()
	r := Of(Run{Duration: time.Minute}, app, m)
	if r.Requests != 20 || r.LeftRatio != 0.2 || r.OverSLORatio != 0.2 || r.FailedRatio != 0 || r.Kinds[0].LeftRatio != 0.2 {
		t.Errorf("%v requests, %v left, %v over, %v failed", r.Requests, r.LeftRatio, r.OverSLORatio, r.FailedRatio)
	}
	if k := m.Kinds[0]; k.ExportedEnded != 16 || k.ExportedOver != 0 {
		t.Errorf("exporters show %v requests, %v over: they cannot see what was not sent", k.ExportedEnded, k.ExportedOver)
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), "Users left: 20.0 % of all requests were not sent") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
