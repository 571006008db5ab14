package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/advice"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/pipeline"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
	"github.com/loadline/loadline/test/cluster"
)

const (
	// today scales the shop in its past.
	today = "hpa:target=70"
	// stretch is what the evaluation judges at once, and lead the time before it, which counts for
	// cost and changes, but not for the SLO. Together they are a quarter of an hour.
	stretch = 13 * time.Minute
	lead    = stretch / 6
	// ahead is how long the shop runs before, so that Prometheus has rates of it.
	ahead = 90 * time.Second
	// interval of decisions, the LoadLine's default.
	interval = 15 * time.Second
)

// figures of a deployment over a stretch with its lead.
type figures struct {
	coreHours, gibHours float64 // the larger of request and use, from binding to deletion
	changes             float64 // of replicas
	over                float64 // share of the requests over the SLO, without the lead
}

// plus adds a share of other figures.
func (f figures) plus(other figures, share float64) figures {
	f.coreHours += share * other.coreHours
	f.gibHours += share * other.gibHours
	f.changes += share * other.changes
	f.over += share * other.over
	return f
}

func (f figures) money() float64 {
	return pool.Prices{}.Resources(3600*f.coreHours, 3600*f.gibHours*(1<<30))
}

func (f figures) String() string {
	return fmt.Sprintf("%.3f core-hours, %.3f GiB-hours, %.4f USD, %.1f changes, %.3f %% over the SLO", f.coreHours, f.gibHours,
		f.money(), f.changes, 100*f.over)
}

// TestJudgedIsWhatRuns follows a user of a shop of two services from the history in Prometheus to a
// deployment, which then runs for a quarter of an hour under the load of the part that it was
// judged on: cost, changes and requests over the SLO are as judged.
func TestJudgedIsWhatRuns(t *testing.T) {
	t.Parallel()
	c := cluster.Shared(t)
	c.InstallLoadline(t)
	s := &fixture{c: c, admin: c.Client(t, cluster.Admin), ns: c.Namespace(t), app: shop(t)}
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	s.prom = c.Prometheus(t, cluster.PrometheusOptions{Scrape: 15 * time.Second, Past: s.past(t, dir)})
	judged := s.judge(t, dir, run)

	for name, replicas := range judged.start {
		s.app.Services[s.app.ServiceIndex(name)].Replicas = replicas
	}
	c.Deploy(t, s.ns, s.app)
	s.promote(t, dir, run)
	manifest := s.manifest(t, run, judged)
	p := s.run(t, cluster.ProductOptions{Dir: dir})
	s.player = c.Play(t, cluster.PlayerOptions{App: s.app, Namespace: s.ns, Seed: 1, Requests: delayed{judged.load, ahead}})
	s.prom.SetJobs(t, s.player.Jobs())
	at := func(since time.Duration) { time.Sleep(time.Until(s.player.Began().Add(ahead + since))) }
	at(0)
	coresBefore, bytesBefore := s.player.Cost()
	s.c.ApplyYAML(t, s.ns, manifest)
	at(lead)
	var real figures
	real.over = s.over(t, func() { at(judged.duration) })
	cores, bytes := s.player.Cost()
	real.coreHours, real.gibHours = (cores-coresBefore)/3600, (bytes-bytesBefore)/3600/(1<<30)
	changes := s.changes(t, p)
	real.changes = float64(len(changes))
	passes := metric(t, p, passCount)
	t.Logf("judged %s (of %d runs, on %s)\nreal   %s\n%v passes, changes %v", judged.figures, judged.runs, judged.stretch, real, passes,
		changes)
	// A machine that is too busy for the controller to decide in time shows another deployment.
	if expected := judged.duration.Seconds() / interval.Seconds(); passes < 0.9*expected {
		t.Skipf("%v of %.0f decisions were made in time: the machine is too busy for a comparison", passes, expected)
	}
	agree(t, judged.figures, real)
}

// agree within the tolerances that the project promises.
func agree(t *testing.T, judged, real figures) {
	t.Helper()
	within := func(what string, judged, real, most float64) {
		if off := math.Abs(real - judged); !(off <= most) {
			t.Errorf("%s: judged %.4g, real %.4g; may differ by %.3g", what, judged, real, most)
		}
	}
	within("core-hours", judged.coreHours, real.coreHours, 0.1*judged.coreHours)
	within("cost", judged.money(), real.money(), 0.1*judged.money())
	within("changes of replicas", judged.changes, real.changes, max(0.2*judged.changes, 1))
	within("share over the SLO", judged.over, real.over, 0.003)
}

// shop is an application of two services on the nodes of the cluster.
func shop(t *testing.T) *loadline.App {
	t.Helper()
	m, err := apps.Load(filepath.Join("testdata", "shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return m.App
}

// past is three days of the shop under today's autoscaler, as Prometheus would have scraped them
// every minute, in a file.
func (s *fixture) past(t *testing.T, dir string) string {
	t.Helper()
	return s.pastUnder(t, dir, publicTrace(t))
}

// pastUnder is the same under another load.
func (s *fixture) pastUnder(t *testing.T, dir string, w *workload.Workload) string {
	t.Helper()
	load, err := w.For(s.app)
	if err != nil {
		t.Fatal(err)
	}
	metrics := simulate.NewExposition(s.app, s.ns)
	if metrics.Autoscalers, err = policy.AutoscalersOf(today, s.app); err != nil {
		t.Fatal(err)
	}
	_, err = simulate.Run(context.Background(), simulate.Spec{
		App: s.app, Load: load, Workload: w.Name, Policy: today, Engine: "fluid", Duration: w.Duration(), Seed: 1,
		Hooks: simulate.Hooks{Scrape: func(r *sim.Reading, cp *sim.ControlPlane) {
			if r.At%time.Minute == 0 {
				metrics.Watch(r, cp)
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "past.txt")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(metrics.Write(file), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// publicTrace is the requests to NASA's web server on 5 to 7 July 1995, in steps of five minutes and
// with a peak of 300 requests per second. A minute of the original has some hundred requests, of
// which chance makes a tenth. Where the trace is not present, the test is skipped.
func publicTrace(t *testing.T) *workload.Workload {
	t.Helper()
	const day = 24 * time.Hour
	path := filepath.Join("..", "..", "..", "..", "shared", "data", "nasa_http", "nasa_jul95_1min.csv.gz")
	w, _, err := workload.ReadFile(path, workload.Options{})
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("%s is not present: it is one of the public traces beside the repository", path)
	}
	for _, step := range []func() (*workload.Workload, error){
		func() (*workload.Workload, error) { return w, err },
		func() (*workload.Workload, error) { return w.Slice(4*day, 7*day) },
		func() (*workload.Workload, error) { return w.Resample(5 * time.Minute) },
		func() (*workload.Workload, error) { return w.Peak(300) },
	} {
		if w, err = step(); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// judgement is what the evaluation says of the candidate on one stretch: the mean of its runs.
type judgement struct {
	figures
	spread              float64 // of the changes: standard deviation over the runs, relative to the mean
	stretch             string
	runs                int
	duration            time.Duration // of each run, with its lead
	candidate, fallback string
	axes                []string
	start               map[string]int // replicas by service
	load                sim.Arrivals
}

// judge pulls the past, trains a candidate and evaluates it, as a user does.
func (s *fixture) judge(t *testing.T, dir, run string) judgement {
	t.Helper()
	past := filepath.Join(dir, "past")
	loadlineCommand(t, "history", "pull", "--prometheus", s.prom.URL, "--namespace", s.ns, "--until",
		sim.Time(3*24*time.Hour).Format(time.RFC3339), "--since", "3d", "--step", "1m", "-o", past)
	loadlineCommand(t, "train", "--history", past, "--name", s.app.Name, "--objective", "99% < 250ms", "--methods", "loadline-dqn",
		"-o", run)
	// The runs of the candidate matter here, not the verdict: only today's deployment is compared with
	// it, and no limit of changes asks for more runs.
	evaluate(t, run, "--seeds", "6", "--stretch", stretch.String(), "--baseline", today, "--neighbours", "use=0", "--max-churn", "1000")
	return s.readJudgement(t, run)
}

// leastChanges of a stretch on which judged and real figures are compared.
const leastChanges = 5

// readJudgement takes the stretch on which the runs of the candidate differ least in the number of
// changes: there is one real run, which is comparable only where chance does not decide.
func (s *fixture) readJudgement(t *testing.T, run string) judgement {
	t.Helper()
	folder, err := pipeline.OpenRun(run)
	if err != nil {
		t.Fatal(err)
	}
	e, err := pipeline.ReadEvaluation(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(e.Verdict.Sentence)
	results, err := bench.ReadResults(filepath.Join(run, pipeline.BenchDir))
	if err != nil {
		t.Fatal(err)
	}
	var best judgement
	for _, on := range e.Stretches {
		i := slices.IndexFunc(results.Rows, func(r bench.Row) bool {
			return r.Case.Label == e.Selection.Choice && r.Case.Workload == on.Name
		})
		if i < 0 || on.To.Sub(on.From) >= lead+stretch+stretch/6 { // several that overlap
			continue
		}
		j := s.readRuns(t, folder, &results.Rows[i])
		t.Logf("%s on %s: %s, spread %.2f", j.candidate, j.stretch, j.figures, j.spread)
		if j.changes < leastChanges || best.runs > 0 && j.spread >= best.spread {
			continue
		}
		best, best.axes = j, e.Settings.Axes
		from := on.From.Sub(folder.Subject.HeldOut.From)
		part, err := folder.HeldOut.Slice(from, on.To.Sub(folder.Subject.HeldOut.From))
		if err != nil {
			t.Fatal(err)
		}
		if best.load, err = part.For(s.app); err != nil {
			t.Fatal(err)
		}
	}
	if best.runs == 0 {
		t.Fatalf("%s has no stretch of %v with %d changes or more", e.Selection.Choice, lead+stretch, leastChanges)
	}
	return best
}

// readRuns of one stretch.
func (s *fixture) readRuns(t *testing.T, folder *pipeline.Folder, row *bench.Row) judgement {
	t.Helper()
	j := judgement{stretch: row.Case.Workload, runs: len(row.Runs), candidate: row.Case.Label, fallback: row.Case.Guard,
		start: map[string]int{}}
	share, squares := 1/float64(len(row.Runs)), 0.0
	for _, key := range row.Runs {
		r, err := bench.ReadRecord(filepath.Join(folder.Dir, pipeline.BenchDir), key)
		if err != nil {
			t.Fatal(err)
		}
		j.duration = time.Duration(float64(r.Result.DurationSeconds) * float64(time.Second))
		changes := float64(r.ReplicaChanges)
		j.figures = j.plus(figures{float64(r.Result.CoreHours), float64(r.Result.GiBHours), changes, float64(r.Result.OverSLORatio)}, share)
		squares += share * changes * changes
		for i, a := range r.Applied.At(0) {
			j.start[folder.App.Services[i].Name] = a.Replicas // the same in every run
		}
	}
	j.spread = math.Sqrt(max(0, squares-j.changes*j.changes)) / j.changes
	return j
}

// promote the candidate, and make its twin available to the controller.
func (s *fixture) promote(t *testing.T, dir, run string) {
	t.Helper()
	loadlineCommand(t, "promote", run, "--force", "--registry", filepath.Join(dir, "models", "registry"))
	twin, err := os.ReadFile(filepath.Join(run, pipeline.TwinFile))
	if err != nil {
		t.Fatal(err)
	}
	s.c.ApplyYAML(t, s.ns, mayRead)
	s.twin(t, string(twin))
}

// manifest is the LoadLine of the deployment that was judged, in mode Act.
func (s *fixture) manifest(t *testing.T, run string, j judgement) string {
	t.Helper()
	folder, err := pipeline.OpenRun(run)
	if err != nil {
		t.Fatal(err)
	}
	all, err := advice.Manifests("model:file="+folder.ModelPath(j.candidate), advice.Target{
		App: folder.App, Prometheus: s.prom.URL, Fallback: j.fallback, Axes: j.axes, Twin: "twin",
	})
	if err != nil {
		t.Fatal(err)
	}
	all[0].Object.(*v1alpha1.LoadLine).Spec.Mode = v1alpha1.Act
	var b strings.Builder
	if err := advice.Write(&b, all); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// delayed is a load that begins later; before, it is as at its beginning.
type delayed struct {
	sim.Arrivals
	by time.Duration
}

// Rate fits sim.Arrivals.
func (d delayed) Rate(kind int, t time.Duration) (float64, time.Duration) {
	if t < d.by {
		rate, _ := d.Arrivals.Rate(kind, 0)
		return rate, d.by
	}
	rate, until := d.Arrivals.Rate(kind, t-d.by)
	if until == sim.Never {
		return rate, until
	}
	return rate, until + d.by
}
