package workload

import (
	"compress/gzip"
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
)

// A profile fitted to every other row of a measured function predicts the rate of the rows
// between them: CPU per replica in, requests per second out, up to overload.
func TestProfileOnMeasuredFunctions(t *testing.T) {
	file, err := os.Open(realFile(t, "validation", "dfaas_openfaas", "faas_samples.csv.gz"))
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
	fit, held := map[string][]Pair{}, map[string][]Pair{}
	for i, row := range rows[1:] {
		rate, _ := strconv.ParseFloat(row[4], 64)
		cpu, _ := strconv.ParseFloat(row[6], 64)
		if row[0] != "LIGHT" || row[9] != "0" || cpu <= 0 {
			continue
		}
		part := fit
		if i%2 == 1 {
			part = held
		}
		part[row[3]] = append(part[row[3]], Pair{cpu / 100, rate})
	}
	for name, pairs := range fit {
		profile, err := FitProfile(pairs)
		if err != nil {
			t.Fatal(err)
		}
		var errors []float64
		for _, p := range held[name] {
			errors = append(errors, math.Abs(profile.Rate(p.Utilisation)-p.Rate)/p.Rate)
		}
		slices.Sort(errors)
		median := errors[len(errors)/2]
		t.Logf("%-14s %6d rows, %4d points, median held-out error %.1f %%", name, len(pairs), len(profile.rate), 100*median)
		if median > 0.15 {
			t.Errorf("%s: the median held-out error is %.1f %%", name, 100*median)
		}
	}
}
