package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/loadline/loadline/internal/shard"
)

// Options of a bench that do not change its results.
type Options struct {
	Dir     string     // of all files
	Program string     // version and commit
	Data    string     // folder of public traces; "" = not available
	Workers int        // parallel runs; 0 = one for each core
	Redo    bool       // repeat what another version made
	Shard   shard.Part // of the processes that make this bench in the same folder; the zero value is the only one

	CPUTime  func() time.Duration // of the calling thread; nil = decisions are not timed
	Progress func(Progress)       // called from any worker, one at a time; may be nil
	Log      func(line string)    // messages for the user; may be nil
}

// Progress of a bench.
type Progress struct {
	Done, Runs int     // runs, including those made before
	Share      float64 // of the remaining work, 0 to 1
}

type runner struct {
	matrix  Matrix
	options Options
	store   *store
	meter   *workMeter
	models  *ModelFolder  // nil = nothing is trained
	claims  *shard.Claims // nil = no other process shares the folder
	keys    sync.Map      // of runs, by job: they are long to compute, and a run that another process makes is asked for again and again
}

// Check reports every fault without running anything, and which traces are not available.
func (m Matrix) Check(data string) (leftOut []string, err error) {
	m = m.withDefaults()
	if err := m.check(); err != nil {
		return nil, err
	}
	_, leftOut, err = m.cells(data)
	return leftOut, err
}

// Run runs the comparison: it calibrates and searches, makes every run that is not in the
// folder yet, and writes the results there. If interrupted, it keeps what is finished, and the
// same call resumes.
func Run(ctx context.Context, m Matrix, o Options) (*Results, error) {
	m = m.withDefaults()
	if err := m.check(); err != nil {
		return nil, err
	}
	cells, leftOut, err := m.cells(o.Data)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	for _, name := range leftOut {
		o.Log(fmt.Sprintf("workload %s is skipped: its trace is not available", name))
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	s, err := openStore(o)
	if err != nil {
		return nil, err
	}
	jobs := m.jobs(cells)
	r := &runner{matrix: m, options: o, store: s, meter: newWorkMeter(len(jobs), o.Progress)}
	if o.Shard.Shared() {
		if r.claims, err = shard.OpenClaims(filepath.Join(o.Dir, ClaimsFolder)); err != nil {
			return nil, err
		}
	}
	if m.trains() {
		code, err := codeVersion()
		if err != nil {
			return nil, err
		}
		if r.models, err = OpenModelFolder(filepath.Join(o.Dir, modelsFolder), o.Program+", "+code); err != nil {
			return nil, err
		}
		r.models.Share(r.claims)
	}
	records, preparations, err := r.work(ctx, jobs)
	if err != nil {
		return nil, r.interrupted(err)
	}
	results := aggregate(records, m.Baseline)
	results.Learned, results.Calibrations = r.learned(preparations), map[string]*Calibration{}
	for _, p := range preparations {
		if p.found != nil {
			results.Calibrations[m.Policies[p.first.policy].Label] = p.found
		}
	}
	results.Format, results.Program, results.Suite, results.Seeds = FormatVersion, o.Program, m.Suite, m.Seeds
	return results, results.write(o.Dir)
}

// work runs everything: first preparations, then the runs that need none, then those that do, and at
// last the oracles that are searched.
func (r *runner) work(ctx context.Context, jobs []job) ([]*Record, []*preparation, error) {
	preparations, of, err := r.preparations(jobs)
	if err != nil {
		return nil, nil, err
	}
	var order, waiting, oracles []int // indices into jobs
	searched := map[job]bool{}        // without the seed
	for i, j := range jobs {
		r.meter.plan(j.cell.cost(r.matrix.Engine))
		if r.matrix.Policies[j.policy].needsSearch() {
			oracles = append(oracles, i)
			if shared := (job{j.cell, j.policy, 0}); !searched[shared] {
				searched[shared] = true
				r.meter.plan(costOfForesight * j.cell.cost(r.matrix.Engine))
			}
		} else if of[j] == nil {
			order = append(order, i)
		} else {
			waiting = append(waiting, i)
		}
	}
	for _, p := range preparations {
		r.meter.plan(p.cost)
	}
	records := make([]*Record, len(jobs))
	units := r.options.Shard.Order(len(preparations)) // these, then jobs
	for _, part := range [][]int{order, waiting} {
		for _, i := range r.options.Shard.Order(len(part)) {
			units = append(units, len(preparations)+part[i])
		}
	}
	err = r.all(ctx, units, func(ctx context.Context, n int) error {
		if n < len(preparations) {
			return r.prepare(ctx, preparations[n])
		}
		i := n - len(preparations)
		spec := r.matrix.Policies[jobs[i].policy].Spec
		if p := of[jobs[i]]; p != nil {
			if !p.done.Load() {
				return shard.ErrLater
			}
			spec = p.spec
		}
		var err error
		if records[i], err = r.runOne(ctx, jobs[i], spec); err == nil {
			r.meter.ended()
		}
		return err
	})
	if err == nil {
		err = r.runOracles(ctx, jobs, oracles, records)
	}
	return records, preparations, err
}

// all units of work, some at a time.
func (r *runner) all(ctx context.Context, units []int, do func(ctx context.Context, unit int) error) error {
	w := shard.Work{Workers: r.options.Workers, Order: units, Do: do}
	if r.claims != nil {
		w.Poll = shard.Poll
	}
	return shard.Run(ctx, w)
}

// Interrupted is the error of a bench that was interrupted.
type Interrupted struct {
	Kept, Runs int
	Dir        string
}

func (e *Interrupted) Error() string {
	return fmt.Sprintf("interrupted: %d of %d runs are kept in %s; the same command resumes", e.Kept, e.Runs,
		filepath.ToSlash(e.Dir))
}

// Unwrap makes it a context.Canceled.
func (*Interrupted) Unwrap() error { return context.Canceled }

// interrupted turns the context's error into one that says what was kept.
func (r *runner) interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return &Interrupted{Kept: r.meter.finished(), Runs: r.meter.runs, Dir: r.options.Dir}
	}
	return err
}
