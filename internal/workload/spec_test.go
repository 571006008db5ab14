package workload

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func mustParse(t *testing.T, spec string, duration, step time.Duration, seed uint64) *Workload {
	t.Helper()
	w, err := Parse(spec, duration, step, seed)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestGenerators(t *testing.T) {
	for _, c := range []struct {
		name, spec     string
		duration, step time.Duration
		want           []float64
	}{
		{"constant", "constant:rps=7", 3 * time.Second, time.Second, []float64{7, 7, 7}},
		{"a step inside a bin is averaged", "step:from=10,to=20,at=15s", 30 * time.Second, 10 * time.Second, []float64{10, 15, 20}},
		{"a ramp over the whole", "ramp:from=0,to=30", 3 * time.Second, time.Second, []float64{5, 15, 25}},
		{"a ramp within", "ramp:from=0,to=10,start=1s,end=2s", 3 * time.Second, time.Second, []float64{0, 5, 10}},
		{"levels add up", "constant:rps=1+step:from=0,to=5,at=1s", 2 * time.Second, time.Second, []float64{1, 6}},
		{"a flash multiplies", "constant:rps=10+flash:at=1s,factor=3,rise=2s,hold=1s,fall=0s", 5 * time.Second, time.Second,
			[]float64{10, 15, 25, 30, 10}},
		{"an exponent is not a sum", "constant:rps=1e+1", time.Second, time.Second, []float64{10}},
		{"weekends are quieter", "weekly:low=10,high=10,weekend=0.5", 7 * 24 * time.Hour, 24 * time.Hour,
			[]float64{10, 10, 10, 10, 10, 5, 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sameValues(t, mustParse(t, c.spec, c.duration, c.step, 1).Rates, c.want)
		})
	}
}

// TestAFlashAtARandomTime: within its spread, each seed at another time.
func TestAFlashAtARandomTime(t *testing.T) {
	const spec = "constant:rps=10+flash:at=20s,spread=60s,factor=2,rise=0s,hold=10s,fall=0s"
	starts := map[int]bool{}
	for seed := range uint64(20) {
		rates := mustParse(t, spec, 100*time.Second, time.Second, seed).Rates
		start := slices.IndexFunc(rates, func(r float64) bool { return r > 10 })
		if start < 20 || start >= 80 || rates[start+5] != 20 || rates[min(start+12, 99)] != 10 {
			t.Errorf("seed %d: the flash begins at %d s", seed, start)
		}
		starts[start] = true
	}
	if len(starts) < 10 {
		t.Errorf("20 seeds begin at %d instants", len(starts))
	}
}

func TestDiurnal(t *testing.T) {
	w := mustParse(t, "diurnal:low=50,high=400,peak=14h", 24*time.Hour, time.Minute, 1)
	highest := slices.Index(w.Rates, w.Max())
	if at := time.Duration(highest) * time.Minute; at < 14*time.Hour-2*time.Minute || at > 14*time.Hour+2*time.Minute {
		t.Errorf("highest at %v", at)
	}
	if math.Abs(w.Max()-400) > 0.01 || math.Abs(slices.Min(w.Rates)-50) > 0.01 {
		t.Errorf("from %v to %v", slices.Min(w.Rates), w.Max())
	}
	if math.Abs(w.Mean()-225) > 1e-6 {
		t.Errorf("mean %v", w.Mean())
	}
}

// The stationary mean of a two-state Markov-modulated rate is
// (low*calm + high*burst) / (calm + burst), whatever the bins.
func TestBurstyMean(t *testing.T) {
	want := (20*600 + 200*60.0) / 660
	for _, step := range []time.Duration{time.Second, 90 * time.Second, time.Hour} {
		w := mustParse(t, "bursty:low=20,high=200,calm=10m,burst=1m", 4000*time.Hour, max(step, 10*time.Second), 3)
		// 22,000 turns: the standard error is about 1 % of the mean.
		if math.Abs(w.Mean()-want) > 0.03*want {
			t.Errorf("bins of %v: mean %v, want %v", step, w.Mean(), want)
		}
	}
	w := mustParse(t, "bursty:low=20,high=200,calm=1us,burst=1us", time.Hour, time.Second, 3)
	if w.Mean() != 110 {
		t.Errorf("turns far shorter than a bin: mean %v", w.Mean())
	}
}

func TestNoise(t *testing.T) {
	w := mustParse(t, "constant:rps=100+noise:cv=0.3,corr=1m", 3000*time.Hour, 10*time.Second, 5)
	mean, n := w.Mean(), float64(len(w.Rates))
	variance, lagged := 0.0, 0.0
	for i, r := range w.Rates {
		variance += (r - mean) * (r - mean) / n
		if i >= 6 {
			lagged += (math.Log(r) - math.Log(100) + math.Log(1.09)/2) * (math.Log(w.Rates[i-6]) - math.Log(100) + math.Log(1.09)/2) / n
		}
	}
	if math.Abs(mean-100) > 1 {
		t.Errorf("mean %v", mean)
	}
	if cv := math.Sqrt(variance) / mean; math.Abs(cv-0.3) > 0.01 {
		t.Errorf("coefficient of variation %v", cv)
	}
	if corr := lagged / math.Log(1.09); math.Abs(corr-math.Exp(-1)) > 0.03 {
		t.Errorf("correlation after a minute %v, want 1/e", corr)
	}
}

func TestSameSeedSameWorkload(t *testing.T) {
	const spec = "bursty+noise+flash+mix:a=1,b=2,drift=0.5"
	a := mustParse(t, spec, 2*time.Hour, time.Second, 9)
	b := mustParse(t, spec, 2*time.Hour, time.Second, 9)
	other := mustParse(t, spec, 2*time.Hour, time.Second, 10)
	if !slices.Equal(a.Rates, b.Rates) || !slices.Equal(a.Mix.Shares, b.Mix.Shares) {
		t.Error("the same seed gives another workload")
	}
	if slices.Equal(a.Rates, other.Rates) {
		t.Error("another seed gives the same workload")
	}
}

func TestMix(t *testing.T) {
	w := mustParse(t, "constant+mix:query=70..30,buy=30..70", 2*time.Hour, time.Second, 1)
	if first, last := w.Mix.At(0), w.Mix.At(2*time.Hour-1); math.Abs(first[0]-70) > 0.5 || math.Abs(last[0]-30) > 0.5 {
		t.Errorf("drifts from %v to %v", first, last)
	}
	w = mustParse(t, "constant+mix:query=70..30,buy=30,period=1h", 2*time.Hour, time.Second, 1)
	if half := w.Mix.At(30 * time.Minute); math.Abs(half[0]-30) > 0.5 {
		t.Errorf("after half a period %v", half)
	}
	if w := mustParse(t, "constant+mix:query=70,buy=30", 2*time.Hour, time.Second, 1); w.Mix.Bins() != 1 {
		t.Errorf("a still mix has %d bins", w.Mix.Bins())
	}
}

func TestSpecFaults(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"diurnol:low=5", `generator: "diurnol" must be a file, or one of`},
		{"diurnol:low=5", "did you mean diurnal?"},
		{"steps:0s=60", `generator: "steps" must have no settings; write what it stands for instead: step:`},
		{"diurnal:hihg=5", `diurnal: "hihg" must be one of low, high, period, peak; did you mean high?`},
		{"diurnal:low=-5", `diurnal low: "-5" must be a number from 0 to 1e12, in requests per second`},
		{"diurnal:low=NaN", `diurnal low: "NaN"`},
		{"diurnal:period=fast", `diurnal period: "fast" must be a duration such as`},
		{"diurnal:period=0s", "longer than 0"},
		{"diurnal:low=500,high=5", "must be at least low, 500"},
		{"diurnal:low=5,low=6", "must be given once"},
		{"diurnal:low", `"low" must be key=value`},
		{"noise:cv=0.1", "must have a level to start from"},
		{"constant+mix", "must name kinds"},
		{"constant+mix:a=1..x", `mix a: "1..x"`},
		{"constant+mix:a=0", "share above 0"},
		{"constant+mix:a=1+mix:b=1", "must come once"},
		{"", "generator"},
		{"constant+", "generator"},
	} {
		_, err := Parse(c.spec, 0, 0, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %q is not in: %v", c.spec, c.want, err)
		}
	}
	_, err := Parse("diurnal:low=x,hihg=3+nois", time.Hour, 0, 1)
	for _, part := range []string{"diurnal low", "hihg", "nois"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("not every fault at once: %q is not in %v", part, err)
		}
	}
	if _, err := Parse("constant", time.Second, time.Minute, 1); err == nil {
		t.Error("a step longer than the duration was taken")
	}
}

func TestBuiltins(t *testing.T) {
	for _, b := range builtins {
		w := mustParse(t, b.name, 0, 0, 1)
		if w.Duration() != b.duration || w.Name != b.name || w.Mean() <= 0 {
			t.Errorf("%s: %v of %v requests/s", w.Name, w.Duration(), w.Mean())
		}
	}
	if w := mustParse(t, "constant:rps=1+week", 0, time.Minute, 1); w.Duration() != 7*24*time.Hour {
		t.Errorf("a sum with a week lasts %v", w.Duration())
	}
	w := mustParse(t, "day+flash:at=1h,factor=9", 2*time.Hour, time.Minute, 1)
	if w.Max() < 200 {
		t.Errorf("a flash on a built-in reaches only %v", w.Max())
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	os.WriteFile("trace.csv", packed("t_s,rps\n0,1\n60,2\n120,3\n"), 0o600)
	os.WriteFile("day", []byte("t_s,rps\n0,1\n60,2\n"), 0o600)
	w, report, err := Open(filepath.Join(dir, "trace.csv"), Options{Peak: 30, Duration: 2 * time.Minute})
	if err != nil || report.Rows != 3 {
		t.Fatal(err, report)
	}
	sameValues(t, w.Rates, []float64{15, 30})
	if w, _, err := Open("./day", Options{}); err != nil || len(w.Rates) != 2 {
		t.Errorf("a file of a built-in's name: %v", err)
	}
	if w, _, err := Open("day", Options{Scale: 2, Step: time.Minute}); err != nil || len(w.Rates) != 1440 {
		t.Errorf("a built-in: %v", err)
	}
	for _, c := range []struct {
		name    string
		options Options
		want    string
	}{
		{"none.csv", Options{}, "must be a file that exists"},
		{"trace.csv", Options{Format: "csvv"}, "did you mean csv?"},
		{"trace.csv", Options{Format: "azure2021"}, "must be app,func,end_timestamp,duration"},
		{"trace.csv", Options{Gaps: "guess"}, "must be hold or zero"},
		{"trace.csv", Options{Peak: 1, Scale: 1}, "must be absent together with a peak"},
		{"constant", Options{Peak: math.NaN()}, "peak"},
		{"dayy", Options{}, "did you mean day?"},
	} {
		if _, _, err := Open(c.name, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: %q is not in: %v", c.name, c.options, c.want, err)
		}
	}
}

func TestOpenParts(t *testing.T) {
	t.Chdir(t.TempDir())
	os.WriteFile("usage-0.csv", []byte(googleRow(600, 900, 7, 0, "0.5")), 0o600)
	os.WriteFile("usage-1.csv", packed(googleRow(600, 900, 7, 1, "0.25")+googleRow(900, 1200, 7, 0, "0.5")), 0o600)
	w, report, err := Open("usage-*.csv", Options{Profile: proportional(100)})
	if err != nil || report.Rows != 3 {
		t.Fatal(err, report)
	}
	sameValues(t, w.Rates, []float64{75, 50})

	os.WriteFile("d01.csv", []byte(azureDay()), 0o600)
	os.WriteFile("d02.csv", []byte(azureDay()), 0o600)
	w, report, err = Open("d0?.csv", Options{})
	if err != nil || report.Rows != 4 {
		t.Fatal(err, report)
	}
	sameValues(t, w.Rates, append(azureDayValues(3, 60), azureDayValues(3, 60)...))

	os.WriteFile("usage-2.csv", []byte("app,func,end_timestamp,duration\na,f,1,0\n"), 0o600)
	if _, _, err := Open("usage-*.csv", Options{Profile: proportional(100)}); err == nil || !strings.Contains(err.Error(),
		"usage-2.csv: format") {
		t.Errorf("parts of two formats: %v", err)
	}
	os.WriteFile("a.csv", []byte("t_s,rps\n0,1\n1,2\n"), 0o600)
	os.WriteFile("b.csv", []byte("t_s,rps\n0,1\n1,2\n"), 0o600)
	if _, _, err := Open("[ab].csv", Options{}); err == nil || !strings.Contains(err.Error(), "single file") {
		t.Errorf("two plain files: %v", err)
	}
}

func TestKnownNamesEverything(t *testing.T) {
	groups := map[string]int{}
	for _, e := range Known() {
		groups[e.Group]++
		if e.Name == "" || e.Help == "" {
			t.Errorf("%+v lacks a name or help", e)
		}
	}
	if groups["format"] != len(formats()) || groups["generator"] != len(generators) || groups["built-in"] != len(builtins) {
		t.Errorf("%v", groups)
	}
}
