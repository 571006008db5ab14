package papers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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
	var (
		mu     sync.Mutex
		faults []error
		done   int
		group  sync.WaitGroup
		free   = make(chan struct{}, o.Workers)
	)
	for i := range n {
		free <- struct{}{}
		mu.Lock()
		stop := len(faults) > 0 || ctx.Err() != nil
		mu.Unlock()
		if stop {
			break
		}
		group.Go(func() {
			defer func() { <-free }()
			err := do(i)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				faults = append(faults, err)
			}
			if done++; o.Progress != nil {
				o.Progress(float64(done) / float64(n))
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(faults...)
}

// bySeed runs every variant with every seed: variant, seed, measures.
func (o Options) bySeed(ctx context.Context, variants int, run func(i int, seed uint64) ([]float64, error)) ([][][]float64, error) {
	values := make([][][]float64, variants)
	for i := range values {
		values[i] = make([][]float64, o.Seeds)
	}
	return values, o.each(ctx, variants*o.Seeds, func(job int) error {
		i, s := job/o.Seeds, job%o.Seeds
		var err error
		values[i][s], err = run(i, o.Seed+uint64(s))
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
