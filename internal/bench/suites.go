package bench

import (
	"fmt"
	"regexp"
	"time"

	"github.com/loadline/loadline/internal/suggest"
	"github.com/loadline/loadline/internal/workload"
)

// Suite is a named comparison with the same table for every user.
type Suite struct {
	Name  string
	About string // what it compares, and its duration

	apps   []string
	scenes []listed                // instead of the combinations of applications and the matrix's workloads
	given  func() ([]Scene, error) // the same, made by hand
	matrix Matrix
}

// rivals are all of them, with defaults and calibrated. The oracle is the reference.
func rivals() []Policy {
	var all []Policy
	for _, name := range []string{"hpa", "kpa", "vpa", "hpa+vpa", "ursa", "autothrottle"} {
		all = append(all, ParsePolicy(name), ParsePolicy(name+calibratedSuffix))
	}
	return append(all, ParsePolicy("oracle"))
}

// hour is an hour of generated load at a peak of about 40 requests per second.
func hour(name, spec string) Workload {
	return Workload{Name: name, Spec: spec, Options: workload.Options{Duration: time.Hour}}
}

// twice the load, so that bookinfo's services need more than one replica.
func twice(w Workload) Workload {
	w.Options.Scale = 2
	return w
}

const (
	diurnalHour = "diurnal:low=10,high=40,period=1h,peak=35m+noise:cv=0.03"
	burstyHour  = "bursty:low=12,high=40,calm=6m,burst=90s+noise:cv=0.05"
	noisyHour   = "constant:rps=20+noise:cv=0.25,corr=1m"
	flashHour   = "constant:rps=10+flash:at=20m,factor=4,rise=1m,hold=10m,fall=5m+noise:cv=0.05"
)

var flashAt = regexp.MustCompile(`flash:at=[0-9a-z]+`)

// surprising is a workload with flashes that come at any time in its earlier data: how large they are
// is known from it, and not when the next one comes.
func (w Workload) surprising() Workload {
	w.PastSpec = flashAt.ReplaceAllString(w.Spec, fmt.Sprintf("flash:at=0s,spread=%v", w.Options.Duration*3/4))
	return w
}

// settled is excluded from the SLO's figures, though not from the cost: every policy begins
// with the application's initial replicas, whatever the load, and the time to correct them once
// is not compared.
const settled = 5 * time.Minute

// Suites in the order in which they are listed.
func Suites() []Suite {
	return []Suite{
		{
			Name: "scale",
			About: "rivals as deployed where the number of nodes matters: boutique, trainticket and an application that mostly waits at 40, " +
				"400 and 2,000 requests/s on elastic pools of 4- and 8-core nodes, with neighbours of 0 to 85 %; half an hour each (2,000/s: " +
				"ten minutes), 5 seeds, the SLO evaluated from the sixth minute on",
			scenes: scaleScenes(),
			matrix: Matrix{Policies: deployed(), Seeds: 5, WarmUp: settled},
		},
		{
			Name: "tuned",
			About: "calibrated rivals, each for the scene and with one setting for all scenes, beside their defaults and the oracle: boutique " +
				"at 40 requests/s on elastic pools of 4-core nodes, alone and with neighbours; half an hour each, 5 seeds",
			scenes: tunedScenes(),
			matrix: Matrix{Policies: tuned(), Seeds: 5, WarmUp: settled},
		},
		{
			Name: "contention",
			About: "what a CPU request is worth: boutique's diurnal hour on its own nodes with neighbours that use 0, 50, 70 and 85 % of them " +
				"and request as much, less or more; HPA at 80 %, Ursa, loadline-dqn trained, and one replica of 50m without autoscaling; 5 seeds",
			scenes: contentionScenes(),
			matrix: Matrix{Policies: contenders(), Seeds: 5, WarmUp: settled},
		},
		{
			Name: "bar",
			About: "boutique at ten times its load on an elastic pool of 4-core nodes that take 45 s, CPU limits lifted for all: HPA at 30 to " +
				"100 %, the planner and the oracle, under two hours each of diurnal, bursty and flash load and of six windows of public " +
				"traces; 5 seeds, an hour and a half",
			scenes: barScenes(),
			matrix: Matrix{Policies: barPolicies(), Seeds: 5, WarmUp: settled, Baseline: "hpa at 80 %"},
		},
		{
			Name: "bar-rules",
			About: "the scenes of bar: the best rule for each scene and the one setting of rules that is safe in all, tuned on earlier data, " +
				"beside HPA at 80 % and the planner; 5 seeds; shares its runs with bar in the same folder; some hours, nearly all of them " +
				"for the tuning",
			scenes: barScenes(),
			matrix: Matrix{Policies: barRules(), Seeds: 5, WarmUp: settled, Baseline: "hpa at 80 %"},
		},
		{
			Name: "planner",
			About: "the scenes of bar: the planner without a history and without its parts, behind the guards, and with brownout; 5 seeds; " +
				"shares its runs with bar in the same folder",
			scenes: barScenes(),
			matrix: Matrix{Policies: planners(), Seeds: 5, WarmUp: settled},
		},
		{
			Name: "regimes",
			About: "where rules fail: few workers, JVM starts, a model server, a database with a limit of connections, a retry storm, " +
				"a mix that becomes dear, a release that doubles CPU, an announced sale, growth, neighbours that wake up, a wrong twin, " +
				"late metrics, several applications on one cluster, a cold start; HPA, calibrated rules and the planner, an hour each, 5 seeds",
			given:  regimeScenes,
			matrix: Matrix{Policies: inRegimes(), Seeds: 5, WarmUp: settled},
		},
		{
			Name: "seasons",
			About: "two weeks of boutique with releases, growth and campaigns, on an elastic pool of 4-core nodes at a peak of about 40 " +
				"requests/s: HPA, rules calibrated on three days before, in the second week also after another calibration, and the " +
				"planner; 2 seeds",
			given: seasons,
			matrix: Matrix{Policies: []Policy{ParsePolicy("hpa"), ParsePolicy("rules@calibrated"), ParsePolicy("planner@warm")}, Seeds: 2,
				WarmUp: settled},
		},
		{
			Name: "functions",
			About: "50 functions of a public trace that scale to zero, ten of each class (timer, rare, sporadic, bursty, steady), six hours on " +
				"an elastic pool of 4-core nodes that neighbours use by half: Knative's autoscaler, keep-alive by idle times, HPA, KEDA and the planner; 5 seeds; left " +
				"out where the trace is not available",
			given:  functionScenes,
			matrix: Matrix{Policies: onFunctions(), Seeds: 5, WarmUp: settled, Baseline: "kpa:target=1"},
		},
		{
			Name: "drawn",
			About: "36 scenes drawn by chance, two hours each: applications of 3 to 14 services at 4 to 16 times their load, SLOs 0.6 to 2 " +
				"times as long, loads of every shape, pools of 2- to 8-core nodes, some with neighbours; the planner with its own settings, " +
				"with others for all scenes, and with those searched for each, without a history; 1 seed",
			given:  drawn,
			matrix: Matrix{Policies: plannerSettings(), Seeds: 1, WarmUp: settled, Baseline: "planner"},
		},
		{
			Name: "rivals",
			About: "every rival as it comes and calibrated, and the oracles, on three applications at a peak of about 40 requests/s: " +
				"an hour of diurnal, bursty, noisy and flash load, and an hour each of two public traces where they are available; 5 " +
				"seeds, the SLO evaluated from the sixth minute on",
			apps: []string{"bookinfo", "boutique", "trainticket"},
			matrix: Matrix{
				Policies: rivals(), Seeds: 5, WarmUp: settled,
				Workloads: []Workload{
					hour("diurnal", diurnalHour), hour("bursty", burstyHour), hour("noisy", noisyHour),
					hour("flash", flashHour).surprising(),
					// The messages of a public stream: four times the load within a minute,
					// every hour. Both hours are six days apart.
					{Name: "twitter", Spec: "twitter_2021_08/twitter_1min.csv.gz", Trace: true, Validation: Hour(327), Test: Hour(473),
						Peak: 40},
					// Afternoons at a space centre's web server, six days apart.
					{Name: "nasa", Spec: "nasa_http/nasa_jul95_1min.csv.gz", Trace: true, Validation: Hour(489), Test: Hour(638),
						Peak: 40},
				},
			},
		},
		{
			Name: "perturbations",
			About: "the same policies on boutique, calibrated to an hour in which nothing goes wrong, " +
				"in hours in which one thing does: " + perturbationList() + "; 5 seeds",
			apps: []string{"boutique"},
			matrix: Matrix{
				Policies: rivals(), Seeds: 5, WarmUp: settled,
				Perturbations: PerturbationNames(),
				Workloads:     []Workload{hour("diurnal", diurnalHour)},
			},
		},
		{
			Name: "drpc",
			About: "DRPC and its rivals that learn, as far as this program has them, and MSARS, each trained with the same steps and " +
				"tuning trials on other draws of the load, beside HPA at 75 %, HPA calibrated, doing nothing and the oracle, " +
				"on bookinfo and trainticket: an hour of diurnal and bursty load at a peak of about 80 requests/s; 5 seeds, 3 models " +
				"of each; about an hour, nearly all of it training",
			apps: []string{"bookinfo", "trainticket"},
			matrix: Matrix{
				Policies: registered(
					"static", "hpa:target=75", "hpa@calibrated", "drpc@trained", "coscal@trained", "firm@trained", "asarsa@trained",
					"msars@trained", "oracle",
				),
				Seeds: 5, WarmUp: settled, Baseline: "hpa:target=75",
				Workloads: []Workload{twice(hour("diurnal", diurnalHour)), twice(hour("bursty", burstyHour))},
			},
		},
		{
			Name:  "demo",
			About: "HPA at its default and calibrated, autothrottle and the oracle on bookinfo over a generated day; under a minute",
			apps:  []string{"bookinfo"},
			matrix: Matrix{
				Policies: []Policy{ParsePolicy("hpa"), ParsePolicy("hpa@calibrated"), ParsePolicy("autothrottle"),
					ParsePolicy("oracle")},
				Seeds: 1,
				Workloads: []Workload{
					{Name: "day", Spec: "day", Options: workload.Options{Duration: 24 * time.Hour, Scale: 0.25}},
				},
			},
		},
		{
			Name:  "drift",
			About: "ten minutes of a few policies, to be compared with the figures that were committed; seconds",
			apps:  []string{"bookinfo"},
			scenes: []listed{
				{"bookinfo", 4, lasting("bursty", 10*time.Minute, "bursty:low=12,high=60,calm=2m,burst=1m+noise:cv=0.05"), "eks-4", ""},
				{"bookinfo", 1, lasting("step", 10*time.Minute, "step:from=12,to=40,at=5m+noise:cv=0.05"), "eks-4", "use=0.7,request=0.4"},
			},
			matrix: Matrix{
				Policies: []Policy{
					ParsePolicy("hpa"), ParsePolicy("hpa@calibrated"), ParsePolicy("kpa:target=4"), ParsePolicy("vpa"),
					ParsePolicy("hpa+vpa"),
					ParsePolicy("ursa"), ParsePolicy("autothrottle"),
				},
				Seeds: 2, Perturbations: []string{none, "version-2x"},
				Workloads: []Workload{
					{Name: "bursty", Spec: "bursty:low=12,high=60,calm=2m,burst=1m+noise:cv=0.05",
						Options: workload.Options{Duration: 10 * time.Minute}},
				},
			},
		},
	}
}

func perturbationList() string {
	text := ""
	for i, p := range Perturbations()[1:] {
		if i > 0 {
			text += ", "
		}
		text += p.Name
	}
	return text
}

// SuiteNames lists them.
func SuiteNames() []string {
	var names []string
	for _, s := range Suites() {
		names = append(names, s.Name)
	}
	return names
}

// SuiteNamed gives the comparison of a suite.
func SuiteNamed(name string) (Matrix, error) {
	for _, s := range Suites() {
		if s.Name != name {
			continue
		}
		m := s.matrix
		m.Suite = name
		for _, a := range s.apps {
			app, err := LoadApp(a)
			if err != nil {
				return m, err
			}
			m.Apps = append(m.Apps, app)
		}
		for _, l := range s.scenes {
			scene, err := l.scene()
			if err != nil {
				return m, fmt.Errorf("suite %s: %w", name, err)
			}
			m.Scenes = append(m.Scenes, scene)
		}
		if s.given != nil {
			scenes, err := s.given()
			if err != nil {
				return m, fmt.Errorf("suite %s: %w", name, err)
			}
			m.Scenes = append(m.Scenes, scenes...)
		}
		return m.withDefaults(), nil
	}
	return Matrix{}, fmt.Errorf("unknown suite %q%s", name, suggest.Hint(name, SuiteNames()))
}

// registered returns those of some policies that this program has: learned rivals are methods
// of the lab.
func registered(specs ...string) []Policy {
	var all []Policy
	for _, spec := range specs {
		p := ParsePolicy(spec)
		if _, _, err := methodOf(p); err == nil || !p.Trained {
			all = append(all, p)
		}
	}
	return all
}
