package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/reserve"
	"github.com/loadline/loadline/internal/result"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/workload"
)

// twoTenants are bookinfo and boutique with their own loads. Without nodes nothing is shared.
func twoTenants(t *testing.T, d time.Duration, seed uint64, nodes bool) (models []*loadline.App, loads []*workload.Workload, joined Spec) {
	t.Helper()
	return joinedSpec(t, d, seed, nodes,
		[3]string{"info", "bookinfo", "bursty:low=12,high=60,calm=2m,burst=1m+noise:cv=0.05"},
		[3]string{"shop", "boutique", "diurnal:low=8,high=30,period=15m"})
}

// joinedSpec is a run of applications, each given by its name on the cluster, model and load.
func joinedSpec(t *testing.T, d time.Duration, seed uint64, nodes bool, of ...[3]string) (models []*loadline.App,
	loads []*workload.Workload, joined Spec) {
	t.Helper()
	var all []apps.Joined
	for i, one := range of {
		m, err := apps.Load(one[1])
		if err != nil {
			t.Fatal(err)
		}
		app := *m.App
		if !nodes {
			app.Nodes = nil
		}
		models = append(models, &app)
		all = append(all, apps.Joined{Name: one[0], App: &app})
		w, _, err := workload.Open(one[2], workload.Options{Duration: d, Seed: sim.TenantSeed(seed, i)})
		if err != nil {
			t.Fatal(err)
		}
		loads = append(loads, w)
	}
	app, err := apps.Join(all)
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.Join("all", app, loads)
	if err != nil {
		t.Fatal(err)
	}
	load, err := w.For(app)
	if err != nil {
		t.Fatal(err)
	}
	return models, loads, Spec{App: app, Load: load, Workload: "all", Engine: "event", Duration: d, Seed: seed, WarmUp: time.Minute}
}

func mustRun(t *testing.T, s Spec) *Outcome {
	t.Helper()
	out, err := Run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Where nothing is shared, every application of a cluster has the requests, decisions and cost that
// it has alone, with its own seed. Metrics that are lost are those that it loses alone.
func TestApplicationsThatShareNothingAreAsAlone(t *testing.T) {
	for _, specs := range [][]string{{"hpa", "hpa"}, {"planner", "planner"}, {"hpa", "planner"}} {
		t.Run(strings.Join(specs, "+"), func(t *testing.T) {
			models, loads, joined := twoTenants(t, 12*time.Minute, 3, false)
			joined.Perturb.MetricsLoss = 0.1
			joined.Policy = policy.JoinApplications(joined.App, specs)
			together := mustRun(t, joined)
			bill := result.Number(0)
			for i, of := range joined.App.TenantRanges() {
				load, err := loads[i].For(models[i])
				if err != nil {
					t.Fatal(err)
				}
				alone := mustRun(t, Spec{
					App: models[i], Load: load, Policy: specs[i], Engine: "event", Duration: joined.Duration, WarmUp: joined.WarmUp,
					Seed: sim.TenantSeed(joined.Seed, i), Perturb: joined.Perturb,
				})
				if alone.Result.Changes < 2 || alone.Result.Requests < 1000 {
					t.Fatalf("alone: %v changes, %v requests: the test shows nothing", alone.Result.Changes, alone.Result.Requests)
				}
				for k := range of.Kinds {
					got, want := together.Result.Kinds[of.FirstKind+k], alone.Result.Kinds[k]
					got.Name = want.Name
					equal(t, want.Name, got, want)
				}
				for n := range of.Services {
					got, want := together.Result.Services[of.FirstService+n], alone.Result.Services[n]
					got.Name = want.Name
					equal(t, want.Name, got, want)
				}
				equal(t, "over SLO of "+of.Name, together.Result.Applications[i].OverSLORatio, alone.Result.OverSLORatio)
				equal(t, "requests of "+of.Name, together.Result.Applications[i].Requests, alone.Result.Requests)
				equal(t, "latency of "+of.Name, together.Result.Applications[i].Latency, alone.Result.Latency)
				sameMoney(t, "bill of "+of.Name, together.Result.Applications[i].Bill, alone.Result.Bill)
				bill += alone.Result.Bill
			}
			sameMoney(t, "bill", together.Result.Bill, bill)
		})
	}
}

// equal compares as JSON shows it, so that absent figures are the same.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if !bytes.Equal(g, w) {
		t.Errorf("%s is\n%s, want\n%s", what, g, w)
	}
}

func sameMoney(t *testing.T, what string, got, want result.Number) {
	t.Helper()
	if math.Abs(float64(got-want)) > 1e-9*math.Abs(float64(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Every policy has its own application, by its own names, and nothing of the others.
func TestPoliciesSeeTheirOwnApplicationOnly(t *testing.T) {
	models, _, joined := twoTenants(t, 4*time.Minute, 1, true)
	joined.Policy = "hpa"
	seen := make([]int, 2)
	joined.Hooks.Of = func(application int) Hooks {
		return Hooks{Decided: func(d *loadline.Decision, s loadline.Situation) {
			own := models[application]
			seen[application]++
			o := s.Now()
			if len(o.Services) != len(own.Services) || len(o.Kinds) != len(own.Kinds) || len(s.Allocation) != len(own.Services) ||
				len(s.InFlight) != len(own.Services) {
				t.Fatalf("application %d sees %d services and %d kinds, has %d and %d", application, len(o.Services), len(o.Kinds),
					len(own.Services), len(own.Kinds))
			}
			for i := range own.Services {
				if s.App.Services[i].Name != own.Services[i].Name || s.Allocation[i].Size.CPURequest != own.Services[i].Size.CPURequest {
					t.Fatalf("service %d is %s, want %s", i, s.App.Services[i].Name, own.Services[i].Name)
				}
			}
			for i := range own.Kinds {
				if s.App.Kinds[i].Name != own.Kinds[i].Name || s.App.Kinds[i].Root.Service != own.Kinds[i].Root.Service {
					t.Fatalf("kind %d is %+v, want %+v", i, s.App.Kinds[i].Root, own.Kinds[i].Root)
				}
			}
		}}
	}
	mustRun(t, joined)
	if seen[0] < 10 || seen[1] < 10 {
		t.Errorf("%v decisions", seen)
	}
}

// wisher wants room for a wave of replicas that it also has, with a period in minutes.
type wisher struct {
	period int
}

func (*wisher) Name() string { return "wisher" }

func (*wisher) Needs() loadline.Needs {
	return loadline.Needs{Period: 15 * time.Second, Delay: time.Second, Scrape: 5 * time.Second, Window: 15 * time.Second}
}

func (w *wisher) Decide(now time.Time, s loadline.Situation) (loadline.Proposal, error) {
	wave := int(sim.Since(now)/time.Minute) % w.period
	setting := loadline.Setting{Replicas: loadline.Some(2 + wave)}
	return loadline.Proposal{
		Services: []loadline.ServiceProposal{{Service: 0, Setting: setting}},
		Reserve:  loadline.Some(loadline.Room{Cores: 0.5 * float64(1+wave), Memory: int64(1+wave) << 28}),
	}, nil
}

func init() {
	policy.Register(policy.Method{
		Name: "wisher", About: "wants room",
		Options: func(*loadline.App) []policy.Option {
			return []policy.Option{{Key: "period", Default: "3", Check: policy.Number(2, 9)}}
		},
		New: func(_ *loadline.App, v policy.Values) (loadline.Policy, error) {
			return &wisher{int(v.Float("period"))}, nil
		},
	})
}

// The reserve of a cluster is what the rule of the controller makes of the wishes of all
// applications, at every update.
func TestTheReserveIsTheJointOne(t *testing.T) {
	_, _, joined := twoTenants(t, 90*time.Minute, 2, false)
	joined.Policy, joined.Engine = "by-application:info=wisher,shop=wisher(period=4)", "fluid"
	nodes, err := pool.ParsePool("eks-4")
	if err != nil {
		t.Fatal(err)
	}
	joined.Cluster.Pools = []pool.Pool{nodes}
	wanted := make([]loadline.Opt[loadline.Room], 2)
	joined.Hooks.Of = func(application int) Hooks {
		return Hooks{Decided: func(d *loadline.Decision, _ loadline.Situation) {
			if d.Proposal.Reserve.Set {
				wanted[application] = d.Proposal.Reserve
			}
			if d.Plan.Reserve.Set {
				t.Fatal("an application plans a reserve of its own")
			}
		}}
	}
	// A scrape comes before the decisions of its instant, and plans are applied a second after them:
	// the allocation of an update is that of the scrape before it, its wishes those of the next.
	var shared reserve.Shared
	var allocated []loadline.Allocation
	apart, less := false, false
	joined.Hooks.Scrape = func(r *sim.Reading, cp *sim.ControlPlane) {
		if r.At%reserve.Every == 0 {
			allocated = slices.Clone(cp.Allocation())
			return
		}
		var all []reserve.Wish
		sum := 0.0
		for i, of := range joined.App.TenantRanges() {
			w := reserve.Wish{Name: of.Name, Wanted: wanted[i].Value}
			for _, a := range allocated[of.FirstService : of.FirstService+of.Services] {
				w.Count(loadline.Room{Cores: a.Size.CPURequest, Memory: a.Size.MemoryRequest}, a.Replicas, wanted[i].Set)
			}
			all = append(all, w)
			sum += w.Wanted.Cores
		}
		want, room := shared.Pods(sim.Time(r.At.Truncate(reserve.Every)), nodes.WithDefaults().Start.Mean, all, nil)
		got, each := cp.ReservePods()
		if got != want.Count || got > 0 && (each != pool.Amount{Cores: want.Size.Cores, Memory: want.Size.Memory}) {
			t.Fatalf("after %v: %d pods of %+v, want %d of %+v", r.At, got, each, want.Count, want.Size)
		}
		apart = apart || all[0].Wanted.Cores > 0 && all[1].Wanted.Cores > 0
		less = less || room.Cores < sum
	}
	mustRun(t, joined)
	if !apart || !less {
		t.Errorf("both wanted room: %v; less than the sum was held: %v", apart, less)
	}
}

func TestSeveralApplicationsRepeat(t *testing.T) {
	for _, engine := range Engines() {
		_, _, spec := twoTenants(t, 8*time.Minute, 5, true)
		spec.Policy, spec.Guard, spec.Engine = "planner", "hpa", engine
		equal(t, engine, mustRun(t, spec).Result, mustRun(t, spec).Result)
	}
}

// The worst application decides whether the SLO is met, and the bill is allocated in full.
func TestTheWorstApplicationCounts(t *testing.T) {
	_, _, spec := twoTenants(t, 8*time.Minute, 5, true)
	spec.Policy = "by-application:info=static(replicas=1),shop=hpa(target=30)"
	r := mustRun(t, spec).Result
	info, shop := r.Applications[0], r.Applications[1]
	if !(info.OverSLORatio > 0.01 && shop.OverSLORatio < 0.01) || r.OverSLORatio != info.OverSLORatio || r.SLOMet() {
		t.Errorf("over the SLO: info %v, shop %v, the cluster %v", info.OverSLORatio, shop.OverSLORatio, r.OverSLORatio)
	}
	sameMoney(t, "bill", info.Bill+shop.Bill, r.Bill)
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"application", "the requests of info", "shop/home"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
}

func TestPoliciesOfApplicationsAreChecked(t *testing.T) {
	for spec, want := range map[string]string{
		"by-application:info=hpa,shpo=hpa":               `no application is named "shpo"`,
		"by-application:info=hpa":                        `application "shop" has no policy`,
		"by-application:info=hpa,info=hpa,shop=hpa":      "given twice",
		"by-application:info=hpa(target=60,shop=hpa":     "must be like",
		"by-application:info=hpa,shop=hpa(target=sixty)": "application shop: policy hpa",
	} {
		_, _, s := twoTenants(t, time.Minute, 1, true)
		s.Policy, s.WarmUp = spec, 0
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
}
