package validate

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/sim/pool"
)

// machineUsageFile is beside the folder of measurements: machine_usage of Alibaba's cluster
// trace of 2018 in its original format.
const machineUsageFile = "../alibaba2018_machine_usage/machine_usage_16machines.csv.gz"

// Around each reading the mean of this time is its trend: load over the day is a matter of
// pool.Shape, what is left of pool.Variation.
const trend = time.Hour

// least CPU of machines that are compared: the others have almost no tenants.
const leastUse = 0.2

var variationLags = []int{10, 20, 30, 60, 120, 300, 600} // seconds

// NeighboursReport compares how the CPU of production machines varies with the simulated
// neighbours.
type NeighboursReport struct {
	Measured  VariationStats `json:"measured"`
	Simulated VariationStats `json:"simulated"`
}

// VariationStats is of readings over their trend, of several machines.
type VariationStats struct {
	Machines    int        `json:"machines"`
	Readings    int        `json:"readings"`
	CV          [3]float64 `json:"cv"`          // least, median and largest of a machine
	Percentiles [3]float64 `json:"percentiles"` // 90, 99 and 99.9
	Correlation []float64  `json:"correlation"` // after variationLags
}

// NeighboursOptions says where the data is.
type NeighboursOptions struct{ Data string }

// Neighbours compares them.
func Neighbours(_ context.Context, o NeighboursOptions) (*NeighboursReport, error) {
	machines, err := readMachines(filepath.Join(o.Data, filepath.FromSlash(machineUsageFile)))
	if err != nil {
		return nil, err
	}
	return &NeighboursReport{Measured: variationOf(machines), Simulated: variationOf(simulatedUse(machines))}, nil
}

// usage of one machine, by time in seconds.
type usage struct {
	at  []int
	cpu []float64 // share
}

func readMachines(path string) ([]usage, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no %s", ErrNoData, path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	readings := map[string]map[int]float64{}
	rows := csv.NewReader(z)
	rows.FieldsPerRecord, rows.ReuseRecord = 9, true
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if row[2] == "" {
			continue
		}
		at, err1 := strconv.Atoi(row[1])
		cpu, err2 := strconv.ParseFloat(row[2], 64)
		if err := errors.Join(err1, err2); err != nil {
			line, _ := rows.FieldPos(1)
			return nil, fmt.Errorf("read %s: line %d: %w", path, line, err)
		}
		if readings[row[0]] == nil {
			readings[strings.Clone(row[0])] = map[int]float64{}
		}
		readings[row[0]][at] = cpu / 100
	}
	var machines []usage
	for _, name := range sortedKeys(readings) {
		var u usage
		sum := 0.0
		for _, at := range sortedKeys(readings[name]) {
			u.at, u.cpu = append(u.at, at), append(u.cpu, readings[name][at])
			sum += readings[name][at]
		}
		if sum >= leastUse*float64(len(u.at)) {
			machines = append(machines, u)
		}
	}
	return machines, nil
}

// simulatedUse has as many machines, read at the same times.
func simulatedUse(like []usage) []usage {
	var out []usage
	for i, m := range like {
		var v pool.Variation
		v.Begin(pool.DefaultVary, rand.New(rand.NewPCG(1, uint64(i))))
		step := int(pool.VariationStep.Seconds())
		now := m.at[0] / step
		u := usage{at: m.at}
		for _, at := range m.at {
			for ; now < at/step; now++ {
				v.Step(pool.DefaultVary)
			}
			u.cpu = append(u.cpu, v.Factor)
		}
		out = append(out, u)
	}
	return out
}

func variationOf(machines []usage) VariationStats {
	s := VariationStats{Machines: len(machines), Correlation: make([]float64, len(variationLags))}
	pairs := make([]int, len(variationLags))
	var cvs, all []float64
	for _, m := range machines {
		rest := m.overTrend()
		square := 0.0
		for _, r := range rest {
			square += (r - 1) * (r - 1) / float64(len(rest))
		}
		cvs, all = append(cvs, math.Sqrt(square)), append(all, rest...)
		for i, at := range m.at {
			for l, lag := range variationLags {
				if j := sort.SearchInts(m.at, at+lag); j < len(m.at) && m.at[j] == at+lag {
					s.Correlation[l] += (rest[i] - 1) * (rest[j] - 1) / square
					pairs[l]++
				}
			}
		}
	}
	s.Readings = len(all)
	slices.Sort(cvs)
	slices.Sort(all)
	s.CV = [3]float64{cvs[0], cvs[len(cvs)/2], cvs[len(cvs)-1]}
	for i, q := range []float64{0.9, 0.99, 0.999} {
		s.Percentiles[i] = all[int(q*float64(len(all)))]
	}
	for l := range s.Correlation {
		s.Correlation[l] /= float64(max(pairs[l], 1))
	}
	return s
}

// overTrend is each reading over the mean around it.
func (m usage) overTrend() []float64 {
	sums := make([]float64, len(m.cpu)+1)
	for i, x := range m.cpu {
		sums[i+1] = sums[i] + x
	}
	half := int(trend.Seconds()) / 2
	out := make([]float64, len(m.cpu))
	for i, at := range m.at {
		from, to := sort.SearchInts(m.at, at-half), sort.SearchInts(m.at, at+half+1)
		out[i] = m.cpu[i] * float64(to-from) / (sums[to] - sums[from])
	}
	return out
}

// WriteText prints the report.
func (r *NeighboursReport) WriteText(w io.Writer) error {
	p := newPrinter(w)
	p.printf("Neighbours: CPU of production machines over the mean of the hour around it, and of simulated neighbours\n\n")
	head := []string{"", "machines", "variation (least..largest)", "p90", "p99", "p99.9"}
	for _, lag := range variationLags {
		head = append(head, fmt.Sprintf("corr. %ds", lag))
	}
	p.row(head...)
	for _, line := range []struct {
		name string
		s    VariationStats
	}{{"measured", r.Measured}, {"simulated", r.Simulated}} {
		s := line.s
		row := []string{line.name, strconv.Itoa(s.Machines), fmt.Sprintf("%.2f (%.2f..%.2f)", s.CV[1], s.CV[0], s.CV[2])}
		for _, x := range append(s.Percentiles[:], s.Correlation...) {
			row = append(row, fmt.Sprintf("%.2f", x))
		}
		p.row(row...)
	}
	return p.err()
}
