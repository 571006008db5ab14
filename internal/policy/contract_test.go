package policy

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/loop"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/msars"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/lab/rivals"
)

// contractSpecs are the settings under which each policy is held to the
// contract. A new policy only has to be added here.
var contractSpecs = []string{
	"static", "static:replicas=3", "static:replicas=1000", "static:cpu=0.3,period=2s",
	"hpa", "hpa:target=30,down-window=0s,memory-target=70", "hpa:target=off,rps-target=20,concurrency-target=3",
	"kpa", "kpa:target=1,scale-to-zero=on,down-delay=10s",
	"vpa", "vpa:half-life=1m,history=1000h,memory=off", "hpa+vpa", "hpa+vpa:target=off,rps-target=20,cpu=on",
	"ursa", "ursa:threshold=20,s1=5,down-window=0s",
	"autothrottle", "autothrottle:busy-target=0.3,quiet-target=0,explore=1,warm-up=1m,seed=7", "autothrottle:tower=off",
	"clairvoyant", "clairvoyant:axes=replicas+cpu,s1=0.3",
	"model", "model:elastic-dqn", "model:serverless-vertical", "model:loadline",
	"drpc", "drpc:who=teacher",
	"coscal", "firm", "asarsa",
	"msars", "msars:none",
}

// contractSpec is a spec as New takes it: one that names a formulation becomes a
// file with a model of it that has learned nothing.
func contractSpec(t *testing.T, spec string) string {
	if settings, students := strings.CutPrefix(spec, "drpc"); students {
		return contractDRPC(t, settings)
	}
	if way, steered := strings.CutPrefix(spec, "msars"); steered {
		return contractMSARS(t, cmp.Or(strings.TrimPrefix(way, ":"), "parslo"))
	}
	if slices.Contains(rivals.Names(), rivals.Name(spec)) {
		return contractRival(t, rivals.Name(spec))
	}
	named, trained := strings.CutPrefix(spec, "model:")
	if spec == "model" {
		named, trained = "scaling-ops", true
	}
	if !trained {
		return spec
	}
	problem, err := formulation.NewProblem(named, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	spaces := problem.Spaces()
	net, err := nn.MLP{Inputs: []int{spaces.Observation}, Hidden: []int{16}, Outputs: spaces.Choices}.Design().Build(nn.PyTorchUniform, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	scales := make([]formulation.Scale, spaces.Observation)
	for i := range scales {
		scales[i].Spread = 1
	}
	model := formulation.Model{Problem: problem, Brains: []formulation.Brain{{Service: formulation.Every, Scales: scales, Net: net}}}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := model.Write(path); err != nil {
		t.Fatal(err)
	}
	return "model:file=" + path
}

// contractDRPC is a file with a teacher and students that have learned nothing.
func contractDRPC(t *testing.T, settings string) string {
	app := contractApp()
	eyes, err := drpc.NewEyes(app)
	if err != nil {
		t.Fatal(err)
	}
	net := func(d nn.Design, seed uint64) *nn.Net {
		net, err := d.Build(nn.HeUniform, rand.New(rand.NewPCG(1, seed)))
		if err != nil {
			t.Fatal(err)
		}
		return net
	}
	n := len(app.Services)
	model := drpc.Model{
		App: app.Name, Kind: drpc.Continuous, Shape: drpc.Shared, Period: 30 * time.Second, Pace: drpc.DefaultPace(), Steps: drpc.DefaultSteps(),
		Reward: drpc.DefaultReward(), Notifier: drpc.DefaultNotifier(), Forecasts: make([]*forecast.GRU, n),
		Teacher: net(nn.MLP{Inputs: []int{eyes.Width(drpc.Shared) / n}, Hidden: []int{16}, Outputs: drpc.Axes, Output: nn.Tanh}.Design(), 0),
	}
	for i := range app.Services {
		model.Services = append(model.Services, app.Services[i].Name)
		model.Students = append(model.Students, net(nn.Student(), uint64(1+i)))
	}
	path := filepath.Join(t.TempDir(), "drpc.safetensors")
	if err := model.Write(path); err != nil {
		t.Fatal(err)
	}
	return "drpc:file=" + path + strings.Replace(settings, ":", ",", 1)
}

// contractMSARS is a file with an agent that has learned nothing, and profiles that
// fit nobody.
func contractMSARS(t *testing.T, way string) string {
	app := contractApp()
	eyes, err := drpc.NewEyes(app)
	if err != nil {
		t.Fatal(err)
	}
	n := len(app.Services)
	net, err := nn.MLP{Inputs: []int{eyes.Width(drpc.Shared)/n + len(msars.Features)}, Hidden: []int{16}, Outputs: drpc.Axes, Output: nn.Tanh}.Design().Build(nn.HeUniform, rand.New(rand.NewPCG(1, 4)))
	if err != nil {
		t.Fatal(err)
	}
	set := &profile.Set{App: app.Name}
	for _, need := range msars.Needed(app) {
		s := &app.Services[need.Service]
		set.Profiles = append(set.Profiles, profile.Profile{
			Service: s.Name, Size: profile.Size(s.Size), Percentile: need.Percentile,
			Points: []profile.Point{{Load: 1, Latency: 0.01}, {Load: 20, Latency: 0.02}, {Load: 40, Latency: 0.2}, {Load: 50, Saturated: true}},
		})
	}
	model := msars.Model{
		App: app.Name, Actor: net, Division: msars.Division{Way: way, Profiles: set}, Period: 30 * time.Second,
		Steps: drpc.DefaultSteps(), Reward: drpc.DefaultReward(), Forecasts: make([]*forecast.GRU, n),
	}
	for i := range app.Services {
		model.Services = append(model.Services, app.Services[i].Name)
	}
	path := filepath.Join(t.TempDir(), "msars.safetensors")
	if err := model.Write(path); err != nil {
		t.Fatal(err)
	}
	return "msars:file=" + path
}

// contractRival is a file with a rival that does something, but has learned nothing.
func contractRival(t *testing.T, name rivals.Name) string {
	app := contractApp()
	rng := rand.New(rand.NewPCG(1, 3))
	table := func(states, choices int) rivals.Table {
		table := rivals.NewTable(states, choices)
		for i := range table.Values {
			table.Values[i], table.Tried[i] = rng.Float32(), 1
		}
		return table
	}
	model := rivals.Model{Rival: name, App: app.Name, Kinds: len(app.Kinds), SVM: &rivals.SVM{Mean: []float64{0, 0}, Spread: []float64{1, 1}, Weight: []float64{1, 1}}}
	for i := range app.Services {
		model.Services = append(model.Services, app.Services[i].Name)
		switch name {
		case rivals.CoScalName:
			model.Period = rivals.CoScalPeriod
			model.Table = table(rivals.CoScalLevels().States(), len(rivals.CoScalMoves))
		case rivals.ASARSAName:
			model.Period = rivals.ASARSAPeriod
			model.Table = table(rivals.ASARSALevels().States(), rivals.ASARSAChoices)
			model.ARIMA = append(model.ARIMA, rivals.Fits{CPU: &forecast.ARIMAFit{AR: []float64{0.5}, D: 1}})
		case rivals.FIRMName:
			model.Period = rivals.FIRMPeriod
			net, err := nn.MLP{Inputs: []int{rivals.FIRMWidth(len(app.Kinds))}, Hidden: []int{8}, Outputs: rivals.FIRMAxes, Output: nn.Tanh}.Design().Build(nn.HeUniform, rng)
			if err != nil {
				t.Fatal(err)
			}
			model.Actors = append(model.Actors, net)
		}
	}
	path := filepath.Join(t.TempDir(), "rival.safetensors")
	if err := model.Write(path); err != nil {
		t.Fatal(err)
	}
	return string(name) + ":file=" + path
}

func TestContractCoversEveryPolicy(t *testing.T) {
	for _, name := range Names() {
		found := false
		for _, spec := range contractSpecs {
			found = found || spec == name
		}
		if !found {
			t.Errorf("policy %s with its defaults is not in contractSpecs", name)
		}
	}
}

func TestContract(t *testing.T) {
	for _, spec := range contractSpecs {
		t.Run(spec, func(t *testing.T) {
			spec := contractSpec(t, spec)
			t.Run("has a name and a cadence", func(t *testing.T) { contractNeeds(t, spec) })
			t.Run("same situations give same proposals", func(t *testing.T) { contractDeterministic(t, spec) })
			t.Run("holds on absent data", func(t *testing.T) { contractAbsent(t, spec) })
			t.Run("stays within bounds after the clamp", func(t *testing.T) { contractBounds(t, spec) })
			t.Run("keeps and changes nothing it was shown", func(t *testing.T) { contractBorrowed(t, spec) })
		})
	}
}

func contractApp() *loadline.App {
	app := &loadline.App{Name: "contract"}
	for i := range 3 {
		app.Services = append(app.Services, loadline.Service{
			Name: fmt.Sprintf("s%d", i), Replicas: 2, Workers: 8,
			Size:   loadline.Size{CPURequest: 0.5, CPULimit: 1, MemoryRequest: 1 << 28, MemoryLimit: 1 << 29},
			Bounds: loadline.Bounds{MinReplicas: 1, MaxReplicas: 20, MinCPU: 0.1, MaxCPU: 4, MinMemory: 1 << 26, MaxMemory: 1 << 32},
		})
	}
	app.Kinds = []loadline.Kind{{Name: "get", Share: 1, SLO: loadline.SLO{Percentile: 99, Latency: 250 * time.Millisecond}}}
	return app
}

// player walks a policy through a random but repeatable story: load that
// wanders, pods that follow, samples that go missing.
type player struct {
	app    *loadline.App
	policy loadline.Policy
	rng    *rand.Rand
	alloc  []loadline.Allocation
	window []loadline.Observation
	now    time.Time
	nextID int64
}

func newPlayer(t *testing.T, spec string) *player {
	t.Helper()
	app := contractApp()
	policy, err := New(spec, app)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{app: app, policy: policy, rng: rand.New(rand.NewPCG(1, 2)), now: scenarioStart}
	for _, s := range app.Services {
		p.alloc = append(p.alloc, loadline.Allocation{Replicas: s.Replicas, Size: s.Size})
	}
	return p
}

// step shows the next observation; absent: with nothing measured in it.
func (p *player) step(absent bool) loadline.Situation {
	p.now = p.now.Add(p.policy.Needs().Period)
	o := loadline.Observation{At: p.now, Kinds: make([]loadline.KindObservation, len(p.app.Kinds))}
	for i := range p.app.Services {
		load := math.Exp(p.rng.NormFloat64())
		so := loadline.ServiceObservation{}
		sample := func(v float64) loadline.Sample {
			if absent || p.rng.IntN(10) == 0 {
				return loadline.Sample{}
			}
			return loadline.Sample{Value: v, At: p.now}
		}
		so.Rate, so.CPU, so.Concurrency = sample(100*load), sample(load), sample(5*load)
		so.Throttled, so.Memory, so.Restarts = sample(min(1, load/10)), sample(1<<28), sample(float64(p.nextID/50))
		for range p.alloc[i].Replicas {
			p.nextID++
			pod := loadline.PodObservation{
				ID: p.nextID, Phase: loadline.PodPhase(p.rng.IntN(4)), Created: p.now.Add(-time.Hour), Size: p.alloc[i].Size,
				CPU: sample(load / 2), Memory: sample(1 << 27), Busy: sample(3 * load),
			}
			if pod.Phase == loadline.PodReady {
				pod.Ready = p.now.Add(-time.Minute)
			}
			so.Pods = append(so.Pods, pod)
		}
		o.Services = append(o.Services, so)
	}
	for k := range o.Kinds {
		if !absent {
			over := loadline.Sample{Value: p.rng.Float64() / 50, At: p.now}
			latency := loadline.Sample{Value: p.rng.Float64() / 2, At: p.now}
			o.Kinds[k] = loadline.KindObservation{Rate: loadline.Sample{Value: 100 * p.rng.Float64(), At: p.now}, OverSLO: over, AtSLO: latency}
		}
	}
	keep := max(p.policy.Needs().Keep, 1)
	p.window = append(p.window, o)
	p.window = p.window[max(0, len(p.window)-keep):]
	situation := loadline.Situation{App: p.app, Window: p.window, Allocation: p.alloc, InFlight: p.alloc}
	loop.Prepare(p.policy, p.now, &situation)
	return situation
}

func (p *player) follow(proposal loadline.Proposal, s loadline.Situation) {
	for _, sp := range proposal.Services {
		setting, _ := guard.Clamp{}.Check(p.now, s, sp.Service, sp.Setting)
		p.alloc[sp.Service] = p.alloc[sp.Service].With(setting)
	}
}

func contractNeeds(t *testing.T, spec string) {
	p := newPlayer(t, spec)
	n := p.policy.Needs()
	if p.policy.Name() == "" || n.Period <= 0 || n.Scrape <= 0 || n.Window < n.Scrape || n.Delay < 0 || n.Lag < 0 {
		t.Errorf("%q needs %+v", p.policy.Name(), n)
	}
}

func contractDeterministic(t *testing.T, spec string) {
	a, b := newPlayer(t, spec), newPlayer(t, spec)
	for i := range 100 {
		sa, sb := a.step(false), b.step(false)
		pa, errA := a.policy.Decide(a.now, sa)
		pb, errB := b.policy.Decide(b.now, sb)
		if !reflect.DeepEqual(pa, pb) || (errA == nil) != (errB == nil) {
			t.Fatalf("step %d: %+v, %v and %+v, %v", i, pa, errA, pb, errB)
		}
		a.follow(pa, sa)
		b.follow(pb, sb)
	}
}

// contractAbsent: whatever came before, without data a policy says so, says
// nothing, or says what it has said from the beginning; it never sees a load
// of zero.
func contractAbsent(t *testing.T, spec string) {
	p := newPlayer(t, spec)
	for range 30 {
		s := p.step(false)
		proposal, _ := p.policy.Decide(p.now, s)
		p.follow(proposal, s)
	}
	for range 100 {
		s := p.step(true)
		proposal, err := p.policy.Decide(p.now, s)
		if err != nil && !errors.Is(err, loadline.ErrNoData) {
			t.Fatalf("%v is not ErrNoData", err)
		}
		before := append([]loadline.Allocation(nil), p.alloc...)
		p.follow(proposal, s)
		if !reflect.DeepEqual(before, p.alloc) {
			t.Fatalf("changed %+v to %+v without data", before, p.alloc)
		}
	}
}

func contractBounds(t *testing.T, spec string) {
	p := newPlayer(t, spec)
	for range 300 {
		s := p.step(false)
		proposal, _ := p.policy.Decide(p.now, s)
		p.follow(proposal, s)
		for i, a := range p.alloc {
			b := p.app.Services[i].Bounds
			if a.Replicas < b.MinReplicas || a.Replicas > b.MaxReplicas || a.Size.CPURequest < b.MinCPU || a.Size.CPULimit > b.MaxCPU {
				t.Fatalf("service %d at %+v, bounds %+v", i, a, b)
			}
		}
	}
}

// contractBorrowed overwrites each situation after use: a policy that kept a
// slice of it would decide differently from one whose situations stay.
func contractBorrowed(t *testing.T, spec string) {
	a, b := newPlayer(t, spec), newPlayer(t, spec)
	for i := range 100 {
		sa, sb := a.step(false), b.step(false)
		pa, _ := a.policy.Decide(a.now, sa)
		shown := clone(sb)
		pb, _ := b.policy.Decide(b.now, shown)
		if !reflect.DeepEqual(shown, clone(sb)) {
			t.Fatalf("step %d: the policy changed what it was shown", i)
		}
		spoil(shown)
		if !reflect.DeepEqual(pa, pb) {
			t.Fatalf("step %d: %+v and %+v", i, pa, pb)
		}
		a.follow(pa, sa)
		b.follow(pb, sb)
	}
}

func clone(s loadline.Situation) loadline.Situation {
	c := s
	c.Allocation = append([]loadline.Allocation(nil), s.Allocation...)
	c.InFlight = append([]loadline.Allocation(nil), s.InFlight...)
	c.Window = nil
	for _, o := range s.Window {
		o.Kinds = append([]loadline.KindObservation(nil), o.Kinds...)
		o.Services = append([]loadline.ServiceObservation(nil), o.Services...)
		for i := range o.Services {
			o.Services[i].Pods = append([]loadline.PodObservation(nil), o.Services[i].Pods...)
		}
		c.Window = append(c.Window, o)
	}
	return c
}

func spoil(s loadline.Situation) {
	for i := range s.Window {
		for j := range s.Window[i].Services {
			clear(s.Window[i].Services[j].Pods)
		}
		clear(s.Window[i].Services)
		clear(s.Window[i].Kinds)
	}
	clear(s.Allocation)
	clear(s.InFlight)
}
