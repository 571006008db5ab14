package pool

import (
	"slices"
	"time"

	"github.com/loadline/loadline"
)

// types are the instance types that have a name. Prices are on-demand list prices of 2024
// for Linux, per hour in USD; --prices overrides them. The number of pods of EKS is that of
// the Amazon VPC CNI without prefix delegation, by the network interfaces of the type; of
// AKS that of kubenet.
var types = slices.Concat(
	// EKS, us-east-1: general purpose, compute-optimised, memory-optimised.
	family(EKS, 4, []int{29, 58, 58, 234}, 0.048, "m5.large", "m5.xlarge", "m5.2xlarge", "m5.4xlarge"),
	family(EKS, 2, []int{29, 58, 58, 234}, 0.0425, "c5.large", "c5.xlarge", "c5.2xlarge", "c5.4xlarge"),
	family(EKS, 8, []int{29, 58, 58, 234}, 0.063, "r5.large", "r5.xlarge", "r5.2xlarge", "r5.4xlarge"),
	// GKE, us-central1. N2: 0.031611 per core and 0.004237 per GiB, which are the default
	// prices of this package too.
	family(GKE, 4, nil, 0.033503, "e2-standard-2", "e2-standard-4", "e2-standard-8", "e2-standard-16"),
	family(GKE, 4, nil, 0.048559, "n2-standard-2", "n2-standard-4", "n2-standard-8", "n2-standard-16"),
	family(GKE, 1, nil, 0.035848, "n2-highcpu-2", "n2-highcpu-4", "n2-highcpu-8", "n2-highcpu-16"),
	family(GKE, 8, nil, 0.065507, "n2-highmem-2", "n2-highmem-4", "n2-highmem-8", "n2-highmem-16"),
	// AKS, eastus.
	family(AKS, 4, nil, 0.048, "D2s_v5", "D4s_v5", "D8s_v5", "D16s_v5"),
	family(AKS, 2, nil, 0.0423, "F2s_v2", "F4s_v2", "F8s_v2", "F16s_v2"),
	family(AKS, 8, nil, 0.063, "E2s_v5", "E4s_v5", "E8s_v5", "E16s_v5"),
)

// family is types of 2, 4, 8 and 16 cores with one price per core: the list prices of all
// families above are proportional to the size.
func family(cloud Cloud, gibPerCore int, pods []int, pricePerCore float64, names ...string) []Type {
	var all []Type
	for i, name := range names {
		cores := 2 << i
		t := Type{
			Name: name, Cores: float64(cores), Memory: int64(cores) * int64(gibPerCore) * gib, Cloud: cloud,
			Price: round6(float64(cores) * pricePerCore), MaxPods: defaultMaxPods,
		}
		if pods != nil {
			t.MaxPods = pods[i]
		}
		all = append(all, t)
	}
	return all
}

// presets are the pools that have a name: elastic, of one type each, but for eks, gke and aks,
// which choose among the general-purpose types.
var presets = []Pool{
	preset("bar", Type{Name: "bar", Cores: 4, Memory: 16 * gib, Price: 0.17, MaxPods: defaultMaxPods}), // the suite bar
	preset("eks", typesNamed("m5.large", "m5.xlarge", "m5.2xlarge", "m5.4xlarge")...),
	preset("eks-2", typesNamed("m5.large")...),
	preset("eks-4", typesNamed("m5.xlarge")...),
	preset("eks-8", typesNamed("m5.2xlarge")...),
	preset("eks-16", typesNamed("m5.4xlarge")...),
	preset("gke", typesNamed("n2-standard-2", "n2-standard-4", "n2-standard-8", "n2-standard-16")...),
	preset("gke-2", typesNamed("n2-standard-2")...),
	preset("gke-4", typesNamed("n2-standard-4")...),
	preset("gke-8", typesNamed("n2-standard-8")...),
	preset("gke-16", typesNamed("n2-standard-16")...),
	preset("aks", typesNamed("D2s_v5", "D4s_v5", "D8s_v5", "D16s_v5")...),
	preset("aks-2", typesNamed("D2s_v5")...),
	preset("aks-4", typesNamed("D4s_v5")...),
	preset("aks-8", typesNamed("D8s_v5")...),
	preset("aks-16", typesNamed("D16s_v5")...),
}

func preset(name string, types ...Type) Pool {
	return Pool{Name: name, Types: types, Elastic: true}.explicit()
}

// Names of the pools that ParsePool knows.
func Names() []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.Name
	}
	return names
}

// Named is a pool of the table.
func Named(name string) (Pool, bool) {
	i := slices.IndexFunc(presets, func(p Pool) bool { return p.Name == name })
	if i < 0 {
		return Pool{}, false
	}
	p := presets[i]
	p.Types = slices.Clone(p.Types)
	return p, true
}

// TypeNames are those of the instance types with a name.
func TypeNames() []string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
	}
	return names
}

// TypeNamed is an instance type of the table.
func TypeNamed(name string) (Type, bool) {
	i := slices.IndexFunc(types, func(t Type) bool { return t.Name == name })
	if i < 0 {
		return Type{}, false
	}
	return types[i], true
}

// typesNamed are of the table; a wrong name in this file panics at the start of every test.
func typesNamed(names ...string) []Type {
	var all []Type
	for _, name := range names {
		t, known := TypeNamed(name)
		if !known {
			panic("pool: no instance type " + name)
		}
		all = append(all, t)
	}
	return all
}

// explicit fills in the defaults that the fields document, so that equal pools are equal values.
func (p Pool) explicit() Pool {
	p.Types = slices.Clone(p.Types)
	for i := range p.Types {
		if p.Types[i].MaxPods == 0 {
			p.Types[i].MaxPods = defaultMaxPods
		}
	}
	if !p.Elastic {
		return p
	}
	if p.Max == 0 {
		p.Max = 1000
	}
	if p.Start.Mean == 0 {
		p.Start = loadline.Dist{Mean: 45 * time.Second, CV: 0.2}
	}
	if p.BatchIdle == 0 {
		p.BatchIdle = time.Second
	}
	if p.BatchMax == 0 {
		p.BatchMax = max(10*time.Second, p.BatchIdle)
	}
	if p.ConsolidateAfter == 0 {
		p.ConsolidateAfter = 30 * time.Second
	}
	if p.Budget == 0 {
		p.Budget = 0.1
	}
	return p
}
