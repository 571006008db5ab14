package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/workload"
)

// listed is one scene of a suite, as it is written down.
type listed struct {
	app        string
	scale      float64 // of the application and its load; 0 = 1
	load       Workload
	pool       string // as --pool; "" = the application's own nodes
	neighbours string // as --neighbours; "" = none
}

func (l listed) scene() (Scene, error) {
	scale := max(l.scale, 1)
	app, err := scaledApp(l.app, scale)
	if err != nil {
		return Scene{}, err
	}
	s := Scene{App: app, Workload: l.load.times(scale)}
	if l.pool != "" {
		p, err := pool.ParsePool(l.pool)
		if err != nil {
			return s, err
		}
		s.Cluster.Pools = []pool.Pool{p}
	}
	if l.neighbours != "" {
		if s.Cluster.Neighbours, err = pool.ParseNeighbours(l.neighbours); err != nil {
			return s, err
		}
	}
	s.Name = strings.Join([]string{l.app, scaleName(scale), l.load.Name, nodesName(s.Cluster), neighboursName(s.Cluster.Neighbours)}, " ")
	return s, nil
}

// joinScenes is one scene of several applications on the nodes of the first, each with its own load.
func joinScenes(of []listed) (Scene, error) {
	var joined Scene
	var together []apps.Joined
	var names []string
	for i, l := range of {
		s, err := l.scene()
		if err != nil {
			return s, err
		}
		if i == 0 {
			joined.Cluster = s.Cluster
		}
		together = append(together, apps.Joined{Name: l.app, App: s.App.Model})
		joined.Workload.Of = append(joined.Workload.Of, s.Workload)
		names = append(names, strings.Join([]string{l.app, scaleName(max(l.scale, 1)), l.load.Name}, " "))
	}
	model, err := apps.Join(together)
	if err != nil {
		return joined, err
	}
	joined.App = App{Name: model.Name, Model: model}
	joined.Workload.Name = "own"
	joined.Name = strings.Join(append(names, nodesName(joined.Cluster), neighboursName(joined.Cluster.Neighbours)), " ")
	return joined, nil
}

// coldStart is a scene whose services start with their fewest replicas, at least one, and whose SLO
// is evaluated from the first request on.
func coldStart(s Scene) Scene {
	model := *s.App.Model
	model.Services = slices.Clone(model.Services)
	for i := range model.Services {
		model.Services[i].Replicas = max(model.Services[i].Bounds.MinReplicas, 1)
	}
	s.App.Model, s.FromStart = &model, true
	return s
}

// times is the workload at a multiple of its load.
func (w Workload) times(scale float64) Workload {
	if w.Trace {
		w.Peak *= scale
		return w
	}
	w.Options.Scale = scale
	return w
}

func scaleName(scale float64) string { return fmt.Sprintf("x%g", scale) }

// nodesName says what the nodes are: "4-core", "4-core/8Gi" with another memory than 4 GiB for
// each core.
func nodesName(c pool.Cluster) string {
	if len(c.Pools) == 0 {
		return "own-nodes"
	}
	t := c.Pools[0].Types[0]
	name := fmt.Sprintf("%g-core", t.Cores)
	if gib := float64(t.Memory) / (1 << 30); gib != 4*t.Cores {
		name += fmt.Sprintf("/%gGi", gib)
	}
	return name
}

// neighboursName says what share of the nodes they use, what they request if that differs, and
// their manners where those are not the default.
func neighboursName(n pool.Neighbours) string {
	name := fmt.Sprintf("%g%%", 100*n.Use)
	if n.Request != n.Use {
		name += fmt.Sprintf("/%g%%", 100*n.Request)
	}
	if manners := n.Manners(); manners != "" {
		name += " " + manners
	}
	return name
}

// lasting is a generated load at a peak of about 40 requests/s.
func lasting(name string, d time.Duration, spec string) Workload {
	return Workload{Name: name, Spec: spec, Options: workload.Options{Duration: d}}
}

const half = 30 * time.Minute

// Generated half hours; the same draws are scaled to 400 requests/s.
var (
	diurnalHalf = lasting("diurnal", half, "diurnal:low=10,high=40,period=30m,peak=18m+noise:cv=0.03")
	burstyHalf  = lasting("bursty", half, "bursty:low=12,high=40,calm=6m,burst=90s+noise:cv=0.05")
	noisyHalf   = lasting("noisy", half, "constant:rps=30+noise:cv=0.25,corr=1m")
	flashHalf   = lasting("flash", half, "constant:rps=10+flash:at=12m,factor=4,rise=1m,hold=6m,fall=4m+noise:cv=0.05").surprising()
	rampHalf    = lasting("ramp", half, "ramp:from=8,to=40+noise:cv=0.03")
	stepHalf    = lasting("step", half, "step:from=15,to=40,at=12m+noise:cv=0.03")
)

// Ten minutes for 2,000 requests/s.
var (
	rampMinutes = lasting("ramp", 10*time.Minute, "ramp:from=15,to=40+noise:cv=0.03")
	stepMinutes = lasting("step", 10*time.Minute, "step:from=20,to=40,at=6m+noise:cv=0.03")
)

// window of a public trace at a peak of 40 requests/s. The validation part is as long.
func window(name, file string, validation, test int, d time.Duration) Workload {
	from := func(hour int) Span { return Span{time.Duration(hour) * time.Hour, time.Duration(hour)*time.Hour + d} }
	return Workload{Name: name, Spec: file, Trace: true, Validation: from(validation), Test: from(test), Peak: 40}
}

const (
	twitterFile   = "twitter_2021_08/twitter_1min.csv.gz"
	nasaJulyFile  = "nasa_http/nasa_jul95_1min.csv.gz"
	nasaAugFile   = "nasa_http/nasa_aug95_1min.csv.gz"
	azureFile     = "azure_functions_2021_total/total_2021-02-02_1min.csv.gz"
	wikipediaFile = "limbo_traces/wikipedia_1h.csv.gz"
)

// Half hours of the traces: those of the suite rivals begin there too. Wikipedia's trace has one
// value an hour, so it is six hours.
var (
	twitterHalf   = window("twitter", twitterFile, 327, 473, half)
	nasaHalf      = window("nasa", nasaJulyFile, 489, 638, half)
	azureHalf     = window("azure-functions", azureFile, 10, 14, half)
	wikipediaLong = window("wikipedia", wikipediaFile, 600, 840, 6*time.Hour)
)

// compute is a pool of nodes with half of the usual memory for each core.
const compute = "types=c5.xlarge"

// scaleScenes is a fraction of all combinations: every load, scale, size of nodes and level of
// neighbours occurs at least twice, the large scales with few of them.
func scaleScenes() []listed {
	return []listed{
		{"boutique", 1, diurnalHalf, "eks-4", ""},
		{"boutique", 1, noisyHalf, "eks-4", "use=0.5"},
		{"boutique", 1, stepHalf, "eks-8", "use=0.85,request=0.5"},
		{"boutique", 10, diurnalHalf, "eks-4", ""},
		{"boutique", 10, burstyHalf, "eks-4", "use=0.7"},
		{"boutique", 10, flashHalf, "eks-8", "use=0.5,request=0.7"},
		{"boutique", 10, twitterHalf, "eks-4", "use=0.5"},
		{"boutique", 10, nasaHalf, "eks-8", "use=0.7,request=0.4"},
		{"boutique", 10, stepHalf, "eks-4", ""},
		{"boutique", 50, rampMinutes, "eks-8", ""},
		{"trainticket", 1, burstyHalf, "eks-8", "use=0.7"},
		{"trainticket", 1, wikipediaLong, "eks-4", ""},
		{"trainticket", 10, diurnalHalf, compute, ""}, // memory sets the number of nodes
		{"trainticket", 10, azureHalf, "eks-8", "use=0.5"},
		{"trainticket", 10, rampHalf, "eks-4", "use=0.85,request=0.7"},
		{"trainticket", 50, stepMinutes, "eks-8", ""},
		{"quotes", 10, burstyHalf, "eks-4", ""},
		{"quotes", 10, noisyHalf, "eks-8", "use=0.85"},
	}
}

// deployed are the rivals as they are deployed, without calibration.
func deployed() []Policy {
	var all []Policy
	for _, spec := range []string{"hpa", "hpa:target=50", "keda", "kpa:target=4", "vpa", "hpa+vpa", "phpa", "sre", "ursa",
		"autothrottle", "static"} {
		all = append(all, ParsePolicy(spec))
	}
	return all
}

func tunedScenes() []listed {
	return []listed{
		{"boutique", 1, diurnalHalf, "eks-4", ""},
		{"boutique", 1, burstyHalf, "eks-4", "use=0.5"},
		{"boutique", 1, flashHalf, "eks-4", "use=0.7"},
		{"boutique", 1, twitterHalf, "eks-4", "use=0.7,request=0.4"},
	}
}

// tuned are the rivals with their defaults, calibrated for each scene, and with one setting for
// all of them.
func tuned() []Policy {
	var all []Policy
	for _, name := range []string{"hpa", "sre", "keda"} {
		all = append(all, ParsePolicy(name), ParsePolicy(name+calibratedSuffix), ParsePolicy(name+onceSuffix))
	}
	all = append(all, ParsePolicy(Rules+calibratedSuffix), ParsePolicy(Rules+onceSuffix))
	for _, name := range []string{"phpa", "vpa", "ursa"} {
		all = append(all, ParsePolicy(name), ParsePolicy(name+calibratedSuffix))
	}
	return append(all, ParsePolicy("oracle"))
}

// contentionScenes are neighbours at four levels of use; what they request is the same, less or
// more. At 70 % what is assumed of them is varied too.
func contentionScenes() []listed {
	diurnal := hour("diurnal", diurnalHour)
	all := []listed{{"boutique", 1, diurnal, "", ""}}
	for _, n := range []string{
		"use=0.5", "use=0.7", "use=0.85", "use=0.5,request=0.2", "use=0.7,request=0.4", "use=0.85,request=0.5",
		"use=0.5,request=0.7", "use=0.7,request=0.85", "use=0.85,request=0.9",
		// What is assumed of them: that they vary, in which bursts, and how many they are.
		"use=0.7,vary=0", "use=0.7,vary=0.3", "use=0.7,burst=5ms", "use=0.7,burst=100ms", "use=0.7,pods-per-core=1",
	} {
		all = append(all, listed{"boutique", 1, diurnal, "", n})
	}
	return all
}

func contenders() []Policy {
	return registered("hpa:target=80", "ursa", "loadline-dqn@trained", "no autoscaling: static:replicas=1,cpu=0.05,limit=2")
}

const twoHours = 2 * time.Hour

// barScenes: the windows of traces named "-60" begin at 60 % of each trace with a count of
// requests in every minute, rounded down to an hour, and their validation data at 40 %. They were
// chosen by this rule before any run.
func barScenes() []listed {
	var all []listed
	for _, w := range []Workload{
		lasting("diurnal", twoHours, "diurnal:low=10,high=40,period=2h,peak=70m+noise:cv=0.03"),
		lasting("bursty", twoHours, burstyHour),
		lasting("flash", twoHours, "constant:rps=10+flash:at=40m,factor=4,rise=1m,hold=20m,fall=10m+noise:cv=0.05").surprising(),
		window("twitter", twitterFile, 327, 473, twoHours),
		window("nasa", nasaJulyFile, 489, 638, twoHours),
		window("azure-60", azureFile, 9, 14, twoHours),
		window("nasa-aug-60", nasaAugFile, 297, 446, twoHours),
		window("nasa-jul-60", nasaJulyFile, 264, 396, twoHours),
		window("twitter-60", twitterFile, 211, 316, twoHours),
	} {
		all = append(all, listed{"boutique", 10, w, "bar", ""})
	}
	return all
}

// barPolicies are HPA by hindsight and the planner: with a history behind the guards, as a LoadLine
// runs it, without them, and without a history. Rules that are tuned are a suite of their own, since
// tuning them takes longer than all of this.
func barPolicies() []Policy {
	var all []Policy
	for target := 30; target <= 100; target += 10 {
		all = append(all, ParsePolicy(fmt.Sprintf("hpa at %d %%: hpa:target=%d,limits=lifted", target, target)))
	}
	for _, spec := range []string{"planner@warm@guarded", "planner@warm", "planner", "oracle"} {
		all = append(all, ParsePolicy(spec))
	}
	return all
}

// barRules are the rules tuned on earlier data, between what they are compared with.
func barRules() []Policy {
	var all []Policy
	for _, spec := range []string{
		"hpa at 80 %: hpa:target=80,limits=lifted", "rules@calibrated", "rules@calibrated-once", "planner@warm@guarded", "planner@warm",
	} {
		all = append(all, ParsePolicy(spec))
	}
	return all
}

// planners are the planner, without its parts, and with brownout.
func planners() []Policy {
	var all []Policy
	for _, spec := range []string{
		"hpa at 80 %: hpa:target=80,limits=lifted", "planner@warm", "planner",
		"without forecast: planner:forecast=off@warm", "with reserve: planner:reserve=on@warm", "without sizes: planner:vertical=off@warm",
		"without front door: planner:front-door=off@warm", "without feedback: planner:feedback=off@warm",
		"hpa at 80 %, brownout: hpa:target=80,limits=lifted@brownout", "planner@warm@guarded", "planner@warm@brownout",
	} {
		all = append(all, ParsePolicy(spec))
	}
	return all
}
