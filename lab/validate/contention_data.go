package validate

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/loadline/loadline/lab/data"
)

// contentionWarmUp is the start of a measured run, whose requests are not counted.
const contentionWarmUp = 5 * time.Second

// contender is one server of a measured run: what it was given, and what was measured.
type contender struct {
	Name     string
	Shares   float64 // cpu.shares
	Quota    float64 // cores; 0 = no limit
	Workers  int     // 0 = a thread for every request
	Replicas int
	DemandMs float64 // as drawn where that is known, otherwise the distribution's mean
	CV       float64
	Rate     float64       // requests per second that arrived
	Every    time.Duration // regular bursts instead of random arrivals

	Completed float64 // after the warm-up
	measured  outcome
}

// outcome is what was measured or simulated of one server. Of replicas, it is one's.
type outcome struct {
	CPUSeconds         float64 // over contentionRun.Counted
	MeanMs, P99Ms      float64
	Periods, Throttled float64 // over contentionRun.Counted
}

// tailKnown: five of 500 values are above the p99.
func (s *contender) tailKnown() bool { return s.Completed >= 500 && s.Every == 0 }

// contentionRun is one measured run.
type contentionRun struct {
	Name    string
	Set     string // the program that was measured: its overhead is fitted
	Cores   float64
	Length  time.Duration    // of the load
	Counted [2]time.Duration // when counters were read
	Servers []contender
}

// load of the cores or of the quota, overhead not counted.
func (r *contentionRun) load() float64 {
	sum, of := 0.0, r.Cores
	for i := range r.Servers {
		s := &r.Servers[i]
		if s.Every > 0 {
			sum += s.DemandMs / 1e3 / s.Every.Seconds()
			continue
		}
		sum += s.Rate * s.DemandMs / 1e3
		if s.Quota > 0 {
			of = min(of, s.Quota*float64(s.Replicas))
		}
	}
	return sum / of
}

// readContention reads all measurements: pairs of servers of unequal weight, servers under a
// quota, and the runs of lab/measure.
func readContention() ([]contentionRun, error) {
	pairs, err := readPairs(strings.NewReader(data.ContentionPairs))
	if err != nil {
		return nil, fmt.Errorf("read pairs.csv: %w", err)
	}
	quotas, err := readQuotas(strings.NewReader(cfsQuota))
	if err != nil {
		return nil, fmt.Errorf("read cfs_quota.csv: %w", err)
	}
	runs, err := readContentionRuns(strings.NewReader(data.ContentionRuns))
	if err != nil {
		return nil, fmt.Errorf("read runs.csv: %w", err)
	}
	return append(append(pairs, quotas...), runs...), nil
}

// readPairs reads runs of two servers on one core, one row per run. Their CPU was read when the
// last request had ended.
func readPairs(r io.Reader) ([]contentionRun, error) {
	t, err := readTable(r)
	if err != nil {
		return nil, err
	}
	var runs []contentionRun
	for t.next() {
		run := contentionRun{
			Name: fmt.Sprintf("pair %s:%s, %s+%s", t.text("shares_v"), t.text("shares_n"), t.text("load_v"), t.text("load_n")),
			Set:  "pairs", Cores: 1, Length: 30 * time.Second, Counted: [2]time.Duration{0, 3 * 30 * time.Second},
		}
		for i, v := range []string{"v", "n"} {
			run.Servers = append(run.Servers, contender{
				Name: v, Shares: t.number("shares_" + v), Replicas: 1, DemandMs: t.number("demand_" + v + "_ms"), CV: []float64{0.5, 0.8}[i],
				Rate: t.number(v+"_completed") / t.number("seconds"), Completed: t.number(v + "_completed"),
				measured: outcome{CPUSeconds: t.number(v + "_cpu_s"), MeanMs: t.number(v + "_mean_ms"), P99Ms: t.number(v + "_p99")},
			})
		}
		runs = append(runs, run)
	}
	return runs, t.err
}

// readQuotas reads the runs of cfs_quota.csv with one kind of server.
func readQuotas(r io.Reader) ([]contentionRun, error) {
	t, err := readTable(r)
	if err != nil {
		return nil, err
	}
	var runs []contentionRun
	for t.next() {
		if t.text("kind") != "single" {
			continue
		}
		s := contender{
			Name: "a", Quota: t.number("quota_cores"), Replicas: int(t.number("replicas")), DemandMs: t.number("demand_ms"),
			CV: t.number("demand_cv"), Rate: t.number("completed") / t.number("seconds"), Completed: t.number("completed"),
			measured: outcome{
				MeanMs: t.number("mean_ms"), P99Ms: t.number("p99_ms"),
				Periods: t.number("periods"), Throttled: t.number("throttled_periods"),
			},
		}
		s.Shares = 1024 * s.Quota
		s.measured.CPUSeconds = t.number("cpu_ms_per_request") / 1e3 * s.Rate * cfsLength.Seconds() / float64(s.Replicas)
		runs = append(runs, contentionRun{
			Name: fmt.Sprintf("cfs %g cores x%d, %g ms, %.0f/s", s.Quota, s.Replicas, s.DemandMs, s.Rate),
			Set:  "cfs", Cores: cfsCores, Length: cfsLength, Counted: [2]time.Duration{0, cfsLength}, Servers: []contender{s},
		})
	}
	return runs, t.err
}

// readContentionRuns reads what lab/measure writes: one row per server.
func readContentionRuns(r io.Reader) ([]contentionRun, error) {
	t, err := readTable(r)
	if err != nil {
		return nil, err
	}
	var runs []contentionRun
	for t.next() {
		if name := t.text("run"); len(runs) == 0 || runs[len(runs)-1].Name != name {
			cores := 1.0
			if t.text("cpus") != "1" {
				cores = 2
			}
			length := contentionWarmUp + time.Duration(t.number("seconds")*1e9)
			runs = append(runs, contentionRun{
				Name: name, Set: "runs", Cores: cores, Length: length, Counted: [2]time.Duration{contentionWarmUp, length},
			})
		}
		run := &runs[len(runs)-1]
		run.Servers = append(run.Servers, contender{
			Name: t.text("server"), Shares: t.number("weight"), Quota: t.number("quota_cores"), Workers: int(t.number("workers")),
			Replicas: 1, DemandMs: t.number("drawn_ms"), CV: t.number("demand_cv"), Every: time.Duration(t.number("every_s") * 1e9),
			Rate: t.number("sent") / t.number("seconds"), Completed: t.number("sent") - t.number("failed"),
			measured: outcome{
				CPUSeconds: t.number("cpu_s"), MeanMs: t.number("mean_ms"), P99Ms: t.number("p99_ms"),
				Periods: t.number("periods"), Throttled: t.number("throttled"),
			},
		})
	}
	return runs, t.err
}
