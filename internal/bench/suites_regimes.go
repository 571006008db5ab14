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
}

// regimes were written down before the first comparison. An hour each.
func regimes() []regime {
	var (
		diurnal = hour("diurnal", diurnalHour)
		bursty  = hour("bursty", burstyHour)
		// The database of ledger is full at 80 requests/s with few queries at once.
		under70 = hour("bursty", "bursty:low=25,high=70,calm=6m,burst=90s+noise:cv=0.05")
	)
	return []regime{
		{"few-workers", listed{"quotes", 10, bursty, "eks-4", ""}, ""},
		{"jvm-starts", listed{"orders", 10, bursty, "eks-4", ""}, ""},
		{"model-server", listed{"assistant", 1, diurnal, gpuPool, ""}, ""},
		{"connections", listed{"ledger", 1, under70, "eks-4", ""}, ""},
		{"retry-storm", listed{"boutique", 10, diurnal, "eks-4", ""}, "retry-storm"},
		{"mix-dear", listed{"boutique", 10, diurnal, "eks-4", ""}, "mix-dear"},
		{"release-2x", listed{"boutique", 10, diurnal, "eks-4", ""}, "version-2x"},
		{"announced-sale", listed{"boutique", 10, diurnal, "eks-4", ""}, "sale"},
		{"growth", listed{"boutique", 10, bursty, "eks-4", ""}, "growth"},
		{"neighbours-wake", listed{"boutique", 10, diurnal, "eks-4", "use=0.3,request=0.5"}, "neighbours-wake"},
		{"wrong-twin", listed{"boutique", 10, bursty, "eks-4", ""}, "wrong-twin"},
		{"late-metrics", listed{"boutique", 10, bursty, "eks-4", ""}, "late-4"},
	}
}

func regimeScenes() ([]Scene, error) {
	var all []Scene
	for _, r := range regimes() {
		s, err := r.listed.scene()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		s.Name, s.Perturbation = r.name+": "+s.Name, r.perturbation
		all = append(all, s)
	}
	return all, nil
}

// inRegimes are rules as people run them and calibrated on an hour without the perturbation, and
// the planner, without a history and with seven days of it.
func inRegimes() []Policy {
	var all []Policy
	for _, spec := range []string{"hpa", "rules@calibrated", "kpa@calibrated", "planner", "planner@warm"} {
		all = append(all, ParsePolicy(spec))
	}
	return all
}
