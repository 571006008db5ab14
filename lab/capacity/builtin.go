package capacity

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/internal/workload"
)

// traces are the public traces with a rate of requests in every minute or more often, up to the first
// window of each that the suite bar tests on; 0 = none.
var traces = []struct {
	name, file string
	until      time.Duration
}{
	{"twitter", "twitter_2021_08/twitter_1min.csv.gz", 316 * time.Hour},
	{"nasa-jul", "nasa_http/nasa_jul95_1min.csv.gz", 396 * time.Hour},
	{"nasa-aug", "nasa_http/nasa_aug95_1min.csv.gz", 446 * time.Hour},
	{"azure-total", "azure_functions_2021_total/total_2021-02-02_1min.csv.gz", 14 * time.Hour},
	{"azure-f99", "azure_functions_2021_top10/func_99_1min.csv.gz", 0},
	{"azure-f101", "azure_functions_2021_top10/func_101_1min.csv.gz", 0},
	{"azure-f110", "azure_functions_2021_top10/func_110_1min.csv.gz", 0},
	{"azure-f126", "azure_functions_2021_top10/func_126_1min.csv.gz", 0},
	{"azure-f186", "azure_functions_2021_top10/func_186_1min.csv.gz", 0},
	{"azure-2019", "azure_functions_2019_1350f/invocations_per_function_1day.csv.gz", 0},
	{"at-diurnal", "autothrottle/diurnal-2_1s.csv.gz", 0},
	{"at-noisy", "autothrottle/noisy_1s.csv.gz", 0},
	{"azure-llm", "azure_llm_2023/AzureLLMInferenceTrace_conv.csv.gz", 0},
}

// scenes are the generated loads of the suite bar. Their draws have seeds that no comparison uses.
var scenes = []struct{ name, spec string }{
	{"diurnal", "diurnal:low=10,high=40,period=2h,peak=70m+noise:cv=0.03"},
	{"bursty", "bursty:low=12,high=40,calm=6m,burst=90s+noise:cv=0.05"},
	{"flash", "constant:rps=10+flash:at=40m,factor=4,rise=1m,hold=20m,fall=10m+noise:cv=0.05"},
}

const sceneSeed = 700_001

// Known are the names of the series that Open makes.
func Known() []string {
	var names []string
	for _, t := range traces {
		names = append(names, t.name)
	}
	for _, s := range scenes {
		names = append(names, s.name)
	}
	return names
}

// Open makes a known series. Traces are in the folder data.
func Open(name, data string) (*Series, error) {
	for _, s := range scenes {
		if s.name == name {
			return Draws(name, s.spec, 2*time.Hour, 7*24*time.Hour, 48*time.Hour, sceneSeed)
		}
	}
	for _, t := range traces {
		if t.name != name {
			continue
		}
		path := filepath.Join(data, t.file)
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("series %s: %w: --data must be the folder of the public traces", name, err)
		}
		w, _, err := workload.ReadFile(path, workload.Options{Gaps: workload.GapsZero, Step: step(t.name)})
		if err != nil {
			return nil, err
		}
		return Trace(name, w, t.until)
	}
	return nil, fmt.Errorf("there is no series %q%s", name, suggest.Hint(name, Known()))
}

// step of the bins of a file of single requests.
func step(name string) time.Duration {
	if name == "azure-llm" {
		return Step
	}
	return 0
}
