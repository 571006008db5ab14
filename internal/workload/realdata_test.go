package workload

import (
	"compress/gzip"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// realFile is a public trace beside the repository; its tests skip where it is
// absent.
func realFile(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{"..", "..", "..", "shared", "data"}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no real data: %s is absent", filepath.Join(parts...))
	}
	return path
}

func readReal(t *testing.T, o Options, parts ...string) (*Workload, Report) {
	t.Helper()
	w, report, err := ReadFile(realFile(t, parts...), o)
	if err != nil {
		t.Fatal(err)
	}
	return w, report
}

// naiveSum adds up every number of a compressed CSV from a column on, with the standard library
// only.
func naiveSum(t *testing.T, from int, parts ...string) float64 {
	t.Helper()
	file, err := os.Open(realFile(t, parts...))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(unpacked).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, row := range rows[1:] {
		for _, field := range row[from:] {
			v, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += v
		}
	}
	return sum
}

func TestRealNASA(t *testing.T) {
	w, report := readReal(t, Options{}, "nasa_http", "nasa_jul95_1min.csv.gz")
	if w.Step != time.Minute || int64(len(w.Rates)) != report.Rows {
		t.Errorf("%d bins of %v from %d rows", len(w.Rates), w.Step, report.Rows)
	}
	if got, want := w.Requests(), naiveSum(t, 1, "nasa_http", "nasa_jul95_1min.csv.gz"); math.Abs(got-want) > 1e-6*want {
		t.Errorf("%v requests, want %v", got, want)
	}
}

func TestRealAlibaba2018(t *testing.T) {
	full := proportional(1000)
	w, report := readReal(t, Options{Profile: full, Step: 20 * time.Minute, Select: "m_1932"}, "alibaba2018_machine_usage",
		"machine_usage_16machines.csv.gz")
	if report.Rows != 100002 || report.Selected == 0 || report.Selected == report.Rows {
		t.Errorf("%+v", report)
	}
	if w.Mean() < 50 || w.Mean() > 900 {
		t.Errorf("mean %v", w.Mean())
	}
	// The trace itself lacks five hours of the second day.
	all, report := readReal(t, Options{Profile: full, Step: 5 * time.Minute, Gaps: GapsHold}, "alibaba2018_machine_usage",
		"machine_usage_16machines.csv.gz")
	if report.Selected != 100002 || all.Duration() < 7*24*time.Hour {
		t.Errorf("%v of %+v", all.Duration(), report)
	}
	if _, _, err := ReadFile(realFile(t, "alibaba2018_machine_usage", "machine_usage_16machines.csv.gz"), Options{}); err == nil {
		t.Error("utilisation became requests without a profile")
	}
	// The cluster's mean has a gap of hours, which is reported.
	path := []string{"alibaba2018_machine_usage", "cluster_mean_10s_8days.csv.gz"}
	if _, _, err := ReadFile(realFile(t, path...), Options{Profile: full}); err == nil {
		t.Error("a gap was taken")
	}
	if w, report := readReal(t, Options{Profile: full, Gaps: GapsHold}, path...); report.Filled == 0 || w.Step != 10*time.Second {
		t.Errorf("%+v", report)
	}
}

func TestRealAzure2019(t *testing.T) {
	w, report := readReal(t, Options{}, "azure_functions_2019_1350f", "invocations_per_function_1day.csv.gz")
	if report.Rows != 1350 || len(w.Rates) != 1440 {
		t.Errorf("%+v, %d bins", report, len(w.Rates))
	}
	if got, want := w.Requests(), naiveSum(t, 4, "azure_functions_2019_1350f",
		"invocations_per_function_1day.csv.gz"); math.Abs(got-want) > 1e-6*want {
		t.Errorf("%v requests, want %v", got, want)
	}
}

func TestRealAzure2021(t *testing.T) {
	w, report := readReal(t, Options{}, "azure_functions_2021_rows_fixture", "azure2021_199rows.csv.gz")
	if math.Abs(w.Requests()-float64(report.Rows)) > 1e-6 {
		t.Errorf("%v requests from %d rows", w.Requests(), report.Rows)
	}
	if w, _ := readReal(t, Options{}, "azure_functions_2021_total", "total_2021-02-02_1min.csv.gz"); len(w.Rates) != 1440 {
		t.Errorf("%d bins", len(w.Rates))
	}
}

func TestRealAzureLLM(t *testing.T) {
	w, report := readReal(t, Options{Step: 10 * time.Second}, "azure_llm_2023", "AzureLLMInferenceTrace_conv.csv.gz")
	if report.Rows != 19366 || math.Abs(w.Requests()-19366) > 1e-6 {
		t.Errorf("%v requests from %d rows", w.Requests(), report.Rows)
	}
	if d := w.Duration(); d < 55*time.Minute || d > 65*time.Minute {
		t.Errorf("duration %v", d)
	}
}

func TestRealPlainFiles(t *testing.T) {
	for _, parts := range [][]string{
		{"twitter_2021_08", "twitter_1min.csv.gz"},
		{"autothrottle", "noisy_1s.csv.gz"},
		{"autothrottle", "diurnal-2_1s.csv.gz"},
		{"limbo_traces", "ibm_cics_transactions_15min.csv.gz"},
		{"azure_functions_2021_top10", "func_126_1min.csv.gz"},
		{"nasa_http", "nasa_aug95_1min.csv.gz"},
	} {
		w, report := readReal(t, Options{Peak: 100}, parts...)
		if w.Max() != 100 || int64(len(w.Rates)) != report.Rows {
			t.Errorf("%v: peak %v, %d bins from %d rows", parts, w.Max(), len(w.Rates), report.Rows)
		}
	}
}
