package papers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/shard"
	"github.com/loadline/loadline/internal/workload"
)

// Options of an experiment.
type Options struct {
	Seeds   int    // of everything: training, arrivals, start-ups
	Seed    uint64 // the first
	Workers int    // parallel runs

	// Trace is the cluster trace as request rates with a peak of 1; nil = a generated one is
	// used, and the report says so.
	Trace *workload.Workload
	// Alibaba is DRPC's, likewise.
	Alibaba *workload.Workload

	// Models is the folder for trained models, from which an interrupted run resumes, and
	// Program the version that trained them. DRPC's experiment needs it.
	Models, Program string
	// Shard is this process' part if several make the experiment with one folder of models.
	Shard shard.Part

	// Steps of training for each learned policy; 0 = the experiment's own. Equal for all of
	// them.
	Steps int
	// Length of each run in the event engine; 0 = the experiment's own.
	Length time.Duration

	// Now measures the time of training; no other figure depends on it. nil = not reported.
	Now func() time.Time
	// CPUTime of the calling thread measures decisions; no other figure depends on it. nil =
	// not reported.
	CPUTime func() time.Duration

	few bool // fewer functions, for tests
	// Progress receives the completed share of the work, one call at a time; it
	// may be nil.
	Progress func(share float64)
}

// Experiment is one that can be run by name.
type Experiment struct {
	Name, About string
	Run         func(context.Context, Options) (*Report, error)
}

// Papers whose experiments can be run.
func Papers() []Experiment {
	return []Experiment{
		{"scaling-ops", "one service under recurring slopes: HPA at 70 %, Model 1, Model 2; whether ENV2 foretells the event engine; " +
			"about 2 minutes", ScalingOps},
		{"serverless", "functions: how soon vertical and horizontal agents settle; bootstrapping, functions that come, chains; about " +
			"4 minutes", Serverless},
		{"elastic-dqn", "the table of mean response, cost and QoS violations on a cluster trace, DRPC and MSARS in " +
			"it; about 25 minutes", ElasticDQN},
		{"drpc", "Train Ticket on four small workers: DRPC's students, teacher and rivals with equal training; percentiles, " +
			"failures, growing requests, learning curves, forecasts; about 40 minutes", DRPC},
		{"msars", "how networks that split the SLO adapt when profiles jump, on unseen chains, and under violent change; what their " +
			"splits cost, and what TD3 gains by them; about 40 minutes", MSARS},
	}
}

// Validate reports every fault at once.
func (o Options) Validate() error {
	var faults []error
	for _, f := range []struct {
		what  string
		value int
	}{{"seeds", o.Seeds}, {"workers", o.Workers}} {
		if f.value < 1 {
			faults = append(faults, fmt.Errorf("%s is %d, must be at least 1", f.what, f.value))
		}
	}
	if o.Steps < 0 {
		faults = append(faults, fmt.Errorf("steps is %d, must not be negative", o.Steps))
	}
	if o.Length < 0 || o.Length > 0 && o.Length < 5*time.Minute {
		faults = append(faults, fmt.Errorf("length is %v, must be at least 5m", o.Length))
	}
	return errors.Join(faults...)
}

func (o Options) steps(own int) int {
	if o.Steps > 0 {
		return o.Steps
	}
	return own
}

func (o Options) length(own time.Duration) time.Duration {
	if o.Length > 0 {
		return o.Length
	}
	return own
}

// part maps the progress of a stage, 0 to 1, to a part of the whole.
func (o Options) part(from, to float64) Options {
	if progress := o.Progress; progress != nil {
		o.Progress = func(share float64) { progress(from + (to-from)*share) }
	}
	return o
}

// each runs n jobs, several in parallel. Results must not depend on the order. After an error
// or the end of ctx no new job starts.
func (o Options) each(ctx context.Context, n int, do func(i int) error) error {
	var mu sync.Mutex
	done := 0
	w := shard.Work{Workers: o.Workers, Order: o.Shard.Order(n), Do: func(_ context.Context, i int) error {
		err := do(i)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			return err
		}
		if done++; o.Progress != nil {
			o.Progress(float64(done) / float64(n))
		}
		return nil
	}}
	if o.Shard.Shared() {
		w.Poll = shard.Poll
	}
	return shard.Run(ctx, w)
}

// folder of the trained models. Processes that share it share the trainings.
func (o Options) folder() (*bench.ModelFolder, error) {
	folder, err := bench.OpenModelFolder(o.Models, o.Program)
	if err != nil || !o.Shard.Shared() {
		return folder, err
	}
	claims, err := o.claims()
	folder.Share(claims)
	return folder, err
}

func (o Options) claims() (*shard.Claims, error) {
	if !o.Shard.Shared() {
		return nil, nil
	}
	return shard.OpenClaims(filepath.Join(o.Models, bench.ClaimsFolder))
}

// bySeed runs every variant with every seed: variant, seed, measures. They are kept in the folder of the
// models under the name of the stage.
func (o Options) bySeed(ctx context.Context, stage string, variants int, run func(i int, seed uint64) ([]float64, error)) ([][][]float64, error) {
	values := make([][][]float64, variants)
	for i := range values {
		values[i] = make([][]float64, o.Seeds)
	}
	kept, err := o.keep(stage)
	if err != nil {
		return nil, err
	}
	return values, o.each(ctx, variants*o.Seeds, func(job int) error {
		i, s := job/o.Seeds, job%o.Seeds
		seed := o.Seed + uint64(s)
		var err error
		values[i][s], err = kept.values(fmt.Sprint(i, " ", seed), func() ([]float64, error) { return run(i, seed) })
		return err
	})
}

// eachWithProgress is each for long jobs, which report their progress, 0 to 1.
func (o Options) eachWithProgress(ctx context.Context, n int, do func(i int, progress func(share float64)) error) error {
	var (
		mu      sync.Mutex
		desired = make([]float64, n)
		sum     float64
	)
	quiet := o
	quiet.Progress = nil
	return quiet.each(ctx, n, func(i int) error {
		progress := func(share float64) {
			mu.Lock()
			defer mu.Unlock()
			if share > desired[i] {
				sum += share - desired[i]
				desired[i] = share
				if o.Progress != nil {
					o.Progress(min(1, sum/float64(n)))
				}
			}
		}
		err := do(i, progress)
		progress(1)
		return err
	})
}
