package validate

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// The requirement: a median error of mean and p99 within 15 % of real processes under a CPU
// quota, with nothing fitted but an overhead per request. Plain processor sharing is far off.
func TestQuotaPeriodsAgreeWithRealProcesses(t *testing.T) {
	r, err := CFS(t.Context(), CFSOptions{Seeds: 31})
	if err != nil {
		t.Fatal(err)
	}
	atMost(t, "median error of the mean", r.Quota.Mean.Median, asked)
	atMost(t, "median error of the p99", r.Quota.P99.Median, asked)
	// On held-out data the p99 of nine runs is subject to chance.
	atMost(t, "median error of the mean, held out", r.Crossed.Mean.Median, asked)
	atMost(t, "median error of the p99, held out", r.Crossed.P99.Median, r.Perfect.P99Range[1])
	if r.Shared.Mean.Median < 0.5 {
		t.Errorf("processor sharing is off by %.0f %% only: the quota would not be needed", 100*r.Shared.Mean.Median)
	}
	// A correct model covers 38 of 40 on average; this is a wide margin.
	if r.Covered < 32 {
		t.Errorf("%d of %d measured values lie within the central 95 %% of simulated runs", r.Covered, r.Coverable)
	}
}

func TestSameSeedsSameReport(t *testing.T) {
	var reports [2]bytes.Buffer
	for i := range reports {
		r, err := CFS(t.Context(), CFSOptions{Seeds: 3})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(&reports[i]).Encode(r); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteText(&reports[i]); err != nil {
			t.Fatal(err)
		}
	}
	if reports[0].String() != reports[1].String() {
		t.Error("two reports from the same seeds differ")
	}
	if strings.Contains(reports[0].String(), "NaN") {
		t.Error("a report holds NaN")
	}
}

func atMost(t *testing.T, what string, got, bound float64) {
	t.Helper()
	if !(got <= bound) {
		t.Errorf("%s is %.1f %%, want at most %.0f %%", what, 100*got, 100*bound)
	}
}
