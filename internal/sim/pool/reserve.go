package pool

// Cloud is whose formula a node's reservation follows.
type Cloud int

const (
	// GKE is the default: its formula depends on the cores and the memory only.
	GKE Cloud = iota
	// EKS reserves CPU as GKE does, and memory by the number of pods.
	EKS
	// AKS reserves memory by the number of pods too, and CPU by a table.
	AKS
)

var cloudNames = []string{"gke", "eks", "aks"}

func (c Cloud) String() string { return cloudNames[c] }

const (
	mib = 1 << 20
	gib = 1 << 30

	defaultMaxPods = 110

	// evictionThreshold is the kubelet's memory.available < 100Mi, which all three clouds set:
	// the scheduler does not offer it to pods.
	evictionThreshold = 100 * mib
)

// ReservedFor is what a node of a type keeps for the operating system, the kubelet and
// eviction: Type.Reserved, or by the formula of its cloud. docs/cluster.md has the sources.
func ReservedFor(t Type) Amount {
	if t.Reserved != nil {
		return *t.Reserved
	}
	pods := int64(t.MaxPods)
	if pods == 0 {
		pods = defaultMaxPods
	}
	switch t.Cloud {
	case EKS:
		return Amount{gkeCores(t.Cores), 255*mib + pods*11*mib + evictionThreshold}
	case AKS:
		// Version 1.29 and later; megabytes are decimal.
		return Amount{aksCores(t.Cores), min(pods*20e6+50e6, t.Memory/4) + evictionThreshold}
	default:
		return Amount{gkeCores(t.Cores), gkeMemory(t.Memory) + evictionThreshold}
	}
}

// gkeCores is 6 % of the first core, 1 % of the second, 0.5 % of the next two and 0.25 % of
// the others.
func gkeCores(cores float64) float64 {
	return marginal(cores, []bracket{{1, 0.06}, {2, 0.01}, {4, 0.005}}, 0.0025)
}

// gkeMemory is 25 % of the first 4 GiB, 20 % of the next 4, 10 % of the next 8, 6 % of the
// next 112 and 2 % of the rest; 255 MiB below 1 GiB.
func gkeMemory(memory int64) int64 {
	if memory < gib {
		return 255 * mib
	}
	return int64(marginal(float64(memory), []bracket{{4 * gib, 0.25}, {8 * gib, 0.2}, {16 * gib, 0.1}, {128 * gib, 0.06}}, 0.02))
}

// aksCores is the table of AKS, linear between its rows and beyond the last.
func aksCores(cores float64) float64 {
	return marginal(cores, []bracket{{1, 0.06}, {2, 0.04}, {4, 0.02}, {8, 0.01}}, 0.01)
}

// bracket is the share that is reserved of what lies between the bracket before and UpTo.
type bracket struct{ upTo, share float64 }

func marginal(x float64, brackets []bracket, above float64) float64 {
	sum, from := 0.0, 0.0
	for _, b := range brackets {
		sum += b.share * max(0, min(x, b.upTo)-from)
		from = b.upTo
	}
	return sum + above*max(0, x-from)
}
