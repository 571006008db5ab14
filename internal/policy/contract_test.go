package policy_test

import (
	"cmp"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/forecast"
	"github.com/loadline/loadline/internal/formulation"
	"github.com/loadline/loadline/internal/nn"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/policy/msars"
	"github.com/loadline/loadline/internal/policy/policytest"
	"github.com/loadline/loadline/internal/profile"
)

// contractSpecs are the settings under which each policy is tested against the contract. A new
// policy only has to be added here.
var contractSpecs = []string{
	"static", "static:replicas=3", "static:replicas=1000", "static:cpu=0.3,period=2s",
	"hpa", "hpa:target=30,down-window=0s,memory-target=70", "hpa:target=off,rps-target=20,concurrency-target=3",
	"hpa:target=off,queue-target=50",
	"hpa:limits=lifted,request=p95,request-after=2m,floor=00:00-24:00:3,reserve=2", "hpa:request=s0:0.3+s2:0.7",
	"keda", "keda:threshold=20,s1=5,target=60,window=30s,cached=on", "keda:trigger=entry,limits=lifted",
	"phpa", "phpa:model=traffic,season=10m,step=15s", "phpa:model=holt-winters,season=5m,step=15s,limits=lifted",
	"sre", "sre:floor=12:00-24:00:2,request=keep",
	"kpa", "kpa:target=1,scale-to-zero=on,down-delay=10s",
	"hybrid-histogram", "hybrid-histogram:target=1,scale-to-zero=on,fewest=1,spread=0",
	"vpa", "vpa:update=in-place,half-life=1m,history=1000h,memory=off", "hpa+vpa", "hpa+vpa:target=off,rps-target=20,cpu=on",
	"by-service", "by-service:others=hpa,s0=keda(threshold=20;target=60)|vpa(cpu=off),s1=hpa+vpa(target=30;down-window=0s)",
	"ursa", "ursa:threshold=20,s1=5,down-window=0s",
	"planner", "planner:forecast=off,front-door=off,vertical=off,feedback=off", "planner:lead=30s,down-window=0s,limits=keep,request=p95",
	"planner:reserve=on,shortfall=1",
	"autothrottle", "autothrottle:busy-target=0.3,quiet-target=0,explore=1,warm-up=1m,seed=7", "autothrottle:tower=off",
	"oracle", "oracle:axes=replicas+cpu,s1=0.3",
	"model", "model:elastic-dqn", "model:serverless-vertical", "model:loadline-dqn",
	"drpc", "drpc:who=teacher",
	"msars", "msars:none",
}

// contractSpec is a spec for New: one that names a formulation becomes a file with an untrained
// model of it.
func contractSpec(t *testing.T, spec string, app *loadline.App) string {
	if settings, students := strings.CutPrefix(spec, "drpc"); students {
		return contractDRPC(t, settings, app)
	}
	if way, steered := strings.CutPrefix(spec, "msars"); steered {
		return contractMSARS(t, cmp.Or(strings.TrimPrefix(way, ":"), "parslo"), app)
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
	net, err := nn.MLP{Inputs: []int{spaces.Observation}, Hidden: []int{16}, Outputs: spaces.Choices}.Design().Build(nn.PyTorchUniform,
		rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	scales := make([]formulation.Scale, spaces.Observation)
	for i := range scales {
		scales[i].Spread = 1
	}
	model := formulation.Model{Problem: problem, Networks: []formulation.Network{{Service: formulation.Every, Scales: scales, Net: net}}}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := model.Write(path); err != nil {
		t.Fatal(err)
	}
	return "model:file=" + path
}

// contractDRPC is a file with an untrained teacher and students.
func contractDRPC(t *testing.T, settings string, app *loadline.App) string {
	encoder, err := drpc.NewEncoder(app)
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
		App: app.Name, Kind: drpc.Continuous, Shape: drpc.Shared, Period: 30 * time.Second, Pace: drpc.DefaultPace(),
		Steps:  drpc.DefaultSteps(),
		Reward: drpc.DefaultReward(), Notifier: drpc.DefaultNotifier(), Forecasts: make([]*forecast.GRU, n),
		Teacher: net(nn.MLP{Inputs: []int{encoder.Width(drpc.Shared) / n}, Hidden: []int{16}, Outputs: drpc.Axes,
			Output: nn.Tanh}.Design(), 0),
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

// contractMSARS is a file with an untrained agent, and profiles that match no service.
func contractMSARS(t *testing.T, way string, app *loadline.App) string {
	encoder, err := drpc.NewEncoder(app)
	if err != nil {
		t.Fatal(err)
	}
	n := len(app.Services)
	net, err := nn.MLP{Inputs: []int{encoder.Width(drpc.Shared)/n + len(msars.Features)}, Hidden: []int{16}, Outputs: drpc.Axes,
		Output: nn.Tanh}.Design().Build(nn.HeUniform, rand.New(rand.NewPCG(1, 4)))
	if err != nil {
		t.Fatal(err)
	}
	set := &profile.Set{App: app.Name}
	for _, need := range msars.Needed(app) {
		s := &app.Services[need.Service]
		set.Profiles = append(set.Profiles, profile.Profile{
			Service: s.Name, Size: profile.Size(s.Size), Percentile: need.Percentile,
			Points: []profile.Point{{Load: 1, Latency: 0.01}, {Load: 20, Latency: 0.02}, {Load: 40, Latency: 0.2},
				{Load: 50, Saturated: true}},
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

func TestContractCoversEveryPolicy(t *testing.T) {
	for _, name := range policy.Names() {
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
			spec := contractSpec(t, spec, policytest.App())
			policytest.Contract(t, spec)
		})
	}
}

// TestReasons covers every policy with its defaults, and some of its other settings.
func TestReasons(t *testing.T) {
	specs := policy.Names()
	for _, spec := range contractSpecs {
		if !slices.Contains(specs, spec) {
			specs = append(specs, spec)
		}
	}
	for _, spec := range specs {
		t.Run(spec, func(t *testing.T) { policytest.Reasons(t, contractSpec(t, spec, policytest.Modelled())) })
	}
}
