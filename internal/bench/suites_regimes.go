package bench

import "fmt"

// gpuPool is nodes with one accelerator each: an AWS g6.xlarge (4 cores, 16 GiB, one L4, USD
// 0.8048 an hour on demand in us-east-1), which come after 90 s with a driver to load.
const gpuPool = "cores=4,memory=16Gi,start=90s,price=0.8048"

// regime is a scene in which rules that watch CPU, or what was calibrated before, fail for one
// reason. The sources of the figures are in the application models and in the perturbations.
type regime struct {
	name string // of the reason
	listed
	perturbation string // "" = none

	with []listed // further applications on the same cluster
	cold bool     // services start with their fewest replicas, and the SLO counts from the start
}

// regimes were written down before the first comparison. An hour each.
func regimes() []regime {
	var (
		diurnal = hour("diurnal", diurnalHour)
		bursty  = hour("bursty", burstyHour)
		// The database of ledger is full at 80 requests/s with few queries at once.
		under70 = hour("bursty", "bursty:low=25,high=70,calm=6m,burst=90s+noise:cv=0.05")
		// An application moves to another cluster: within a quarter of an hour its users come, from
		// 5 % to all of them.
		launch = hour("launch", "constant:rps=2+flash:at=0s,factor=20,rise=15m,hold=1h,fall=1m+noise:cv=0.05")
	)
	return []regime{
		{name: "few-workers", listed: listed{"quotes", 10, bursty, "eks-4", ""}},
		{name: "jvm-starts", listed: listed{"orders", 10, bursty, "eks-4", ""}},
		{name: "model-server", listed: listed{"assistant", 1, diurnal, gpuPool, ""}},
		{name: "connections", listed: listed{"ledger", 1, under70, "eks-4", ""}},
		{name: "retry-storm", listed: listed{"boutique", 10, diurnal, "eks-4", ""}, perturbation: "retry-storm"},
		{name: "mix-dear", listed: listed{"boutique", 10, diurnal, "eks-4", ""}, perturbation: "mix-dear"},
		{name: "release-2x", listed: listed{"boutique", 10, diurnal, "eks-4", ""}, perturbation: "version-2x"},
		{name: "announced-sale", listed: listed{"boutique", 10, diurnal, "eks-4", ""}, perturbation: "sale"},
		{name: "growth", listed: listed{"boutique", 10, bursty, "eks-4", ""}, perturbation: "growth"},
		{name: "neighbours-wake", listed: listed{"boutique", 10, diurnal, "eks-4", "use=0.3,request=0.5"}, perturbation: "neighbours-wake"},
		{name: "wrong-twin", listed: listed{"boutique", 10, bursty, "eks-4", ""}, perturbation: "wrong-twin"},
		{name: "late-metrics", listed: listed{"boutique", 10, bursty, "eks-4", ""}, perturbation: "late-4"},
		// Two burst at times of their own, the third follows the day.
		{name: "several-applications", listed: listed{"boutique", 5, bursty, "eks-4", ""},
			with: []listed{{"bookinfo", 5, bursty, "eks-4", ""}, {"trainticket", 1, diurnal, "eks-4", ""}}},
		{name: "cold-start", listed: listed{"boutique", 10, launch, "eks-4", ""}, cold: true},
	}
}

func (r regime) scene() (Scene, error) {
	var s Scene
	var err error
	if len(r.with) > 0 {
		s, err = joinScenes(append([]listed{r.listed}, r.with...))
	} else {
		s, err = r.listed.scene()
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", r.name, err)
	}
	if r.cold {
		s = coldStart(s)
	}
	s.Name, s.Perturbation = r.name+": "+s.Name, r.perturbation
	return s, nil
}

func regimeScenes() ([]Scene, error) {
	var all []Scene
	for _, r := range regimes() {
		s, err := r.scene()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// inRegimes are rules as people run them and calibrated on an hour without the perturbation, and
// the planner, without a history, with seven days of it, and with these and a reserve on nodes.
func inRegimes() []Policy {
	var all []Policy
	for _, spec := range []string{
		"hpa", "rules@calibrated", "kpa@calibrated", "planner", "planner@warm", "with reserve: planner:reserve=on@warm",
	} {
		all = append(all, ParsePolicy(spec))
	}
	return all
}
