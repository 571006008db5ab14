package measure

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/loadline/loadline/internal/atomicfile"
)

// Result is what was measured of one server in one run.
type Result struct {
	Run       Run
	Server    Server
	Sent      int // without the warm-up
	Failed    int
	DemandMs  float64 // mean of the demands as drawn, without the warm-up
	MeanMs    float64
	Quantiles [4]float64 // p50, p90, p95, p99 in ms
	Charged   charged    // without the warm-up

	// Others is the CPU time of other processes on this machine, as a share of all its cores,
	// and Steal what the hypervisor took from the servers' cores.
	Others, Steal float64
}

// charged is what the kernel has counted.
type charged struct {
	CPUSeconds         float64
	Periods, Throttled float64
	ThrottledMs        float64
}

func (a charged) minus(b charged) charged {
	return charged{a.CPUSeconds - b.CPUSeconds, a.Periods - b.Periods, a.Throttled - b.Throttled, a.ThrottledMs - b.ThrottledMs}
}

var columns = []string{
	"run", "kind", "server", "weight", "quota_cores", "workers", "cpus", "demand_ms", "demand_cv", "rate", "every_s", "seconds",
	"sent", "failed", "drawn_ms", "mean_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms",
	"cpu_s", "periods", "throttled", "throttled_ms", "others", "steal",
}

func (r Result) record() []string {
	s := r.Server
	out := []string{r.Run.Name, r.Run.Kind, s.Name, strconv.Itoa(s.Weight), number(s.Quota), strconv.Itoa(s.Workers), s.CPUs,
		number(s.Demand.Seconds() * 1e3), number(s.CV), decimals(s.Rate, 2), number(s.Every.Seconds()), number((Length - WarmUp).Seconds()),
		strconv.Itoa(r.Sent), strconv.Itoa(r.Failed), decimals(r.DemandMs, 3), decimals(r.MeanMs, 3)}
	for _, q := range r.Quantiles {
		out = append(out, decimals(q, 3))
	}
	return append(out, decimals(r.Charged.CPUSeconds, 3), number(r.Charged.Periods), number(r.Charged.Throttled),
		decimals(r.Charged.ThrottledMs, 0), decimals(r.Others, 4), decimals(r.Steal, 4))
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func decimals(v float64, n int) string { return strconv.FormatFloat(v, 'f', n, 64) }

// Table is a file of results. Runs can be measured in several sessions.
type Table struct {
	path string
	rows [][]string
}

// OpenTable reads the results that a file has; a file that does not exist has none.
func OpenTable(path string) (*Table, error) {
	t := &Table{path: path}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = len(columns)
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(rows) > 0 {
		t.rows = rows[1:]
	}
	return t, nil
}

// MaxNoise bounds what other processes may use of the machine, and the hypervisor of the
// servers' cores, for a run to count.
const MaxNoise = 0.03

// ErrNoisy means that a run was given up because of other processes or of the hypervisor.
var ErrNoisy = errors.New("the machine is too noisy")

// Has tells whether a run was measured.
func (t *Table) Has(run string) bool {
	return slices.ContainsFunc(t.rows, func(row []string) bool { return row[0] == run })
}

// Put adds the results of a run and writes the file.
func (t *Table) Put(results []Result) error {
	for _, r := range results {
		t.rows = append(t.rows, r.record())
	}
	return atomicfile.Write(t.path, func(w io.Writer) error {
		out := csv.NewWriter(w)
		return errors.Join(out.Write(columns), out.WriteAll(t.rows))
	})
}
