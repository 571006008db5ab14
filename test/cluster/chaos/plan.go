package chaos

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind of a fault.
type Kind string

// The faults. Those of Loadline hit one of its two processes, chosen by Fault.Arg.
const (
	KillLoadline    Kind = "Loadline is killed"
	StopLoadline    Kind = "Loadline is stopped"
	PauseLoadline   Kind = "Loadline is suspended"
	KillPrometheus  Kind = "Prometheus is killed"
	PausePrometheus Kind = "Prometheus is suspended"
	KillAPIServer   Kind = "the API server is killed"
	PauseAPIServer  Kind = "the API server is suspended"
	KillKEDA        Kind = "KEDA is killed"
	PauseKEDA       Kind = "KEDA is suspended"
	KillNATS        Kind = "NATS is killed"
	PauseNATS       Kind = "NATS is suspended"
	ExportersDown   Kind = "the exporters are down"
	ExportersEmpty  Kind = "the exporters say nothing"
	ExportersNaN    Kind = "the exporters say NaN"
	HalfOfExporters Kind = "half of the pods are not measured"
	ZeroExporters   Kind = "an exporter says zero"
	ClocksBehind    Kind = "the clocks of the exporters are 30 s behind"
	ClocksAhead     Kind = "the clocks of the exporters are 90 s ahead"
	RefuseStatus    Kind = "status writes are refused"
	DelayAPI        Kind = "the way to the API server is slow"
	CutAPI          Kind = "answers of the API server are lost"
	EditSpec        Kind = "the LoadLines are edited"
	DeleteNamespace Kind = "a namespace is deleted"
	LoseNode        Kind = "a node is lost"
	FillDisk        Kind = "the disk of the decision log is full"
)

// trait of a kind of fault.
type trait struct {
	kind Kind
	// subject is what is broken: faults of one subject do not overlap. Whatever needs the API
	// server to begin or end has the same subject as its outages.
	subject           string
	shortest, longest time.Duration
	args              int // Fault.Arg is below it
}

// traits of all kinds. Absent data lasts longer than guard.data.maxAge of the run, so that it is
// noticed as such.
var traits = []trait{
	{KillLoadline, "loadline", 1 * time.Second, 6 * time.Second, 2},
	{StopLoadline, "loadline", 1 * time.Second, 6 * time.Second, 2},
	{PauseLoadline, "loadline", 3 * time.Second, 25 * time.Second, 2},
	{KillPrometheus, "prometheus", 3 * time.Second, 25 * time.Second, 1},
	{PausePrometheus, "prometheus", 3 * time.Second, 25 * time.Second, 1},
	{KillAPIServer, "api", 1 * time.Second, 8 * time.Second, 1},
	{PauseAPIServer, "api", 2 * time.Second, 8 * time.Second, 1},
	{KillKEDA, "keda", 2 * time.Second, 15 * time.Second, 1},
	{PauseKEDA, "keda", 2 * time.Second, 15 * time.Second, 1},
	{KillNATS, "nats", 2 * time.Second, 15 * time.Second, 1},
	{PauseNATS, "nats", 2 * time.Second, 15 * time.Second, 1},
	{ExportersDown, "exporters", 15 * time.Second, 30 * time.Second, 1},
	{ExportersEmpty, "exporters", 15 * time.Second, 30 * time.Second, 1},
	{ExportersNaN, "exporters", 15 * time.Second, 30 * time.Second, 1},
	{HalfOfExporters, "exporters", 20 * time.Second, 35 * time.Second, 1},
	{ZeroExporters, "exporters", 6 * time.Second, 15 * time.Second, 2},
	{ClocksBehind, "exporters", 15 * time.Second, 30 * time.Second, 1},
	{ClocksAhead, "exporters", 12 * time.Second, 20 * time.Second, 1},
	{RefuseStatus, "proxy", 5 * time.Second, 20 * time.Second, 3},
	{DelayAPI, "proxy", 5 * time.Second, 20 * time.Second, 1},
	{CutAPI, "proxy", 3 * time.Second, 15 * time.Second, 1},
	{EditSpec, "api", 8 * time.Second, 25 * time.Second, 4},
	{DeleteNamespace, "api", 2 * time.Second, 8 * time.Second, 1},
	{LoseNode, "api", 5 * time.Second, 20 * time.Second, 3},
	{FillDisk, "disk", 8 * time.Second, 20 * time.Second, 2},
}

// Fault of a plan.
type Fault struct {
	Kind Kind
	At   time.Duration // from the start of the run
	For  time.Duration
	Arg  int // which process, node, job, edit or status code
}

func (f Fault) String() string { return fmt.Sprintf("%v +%v %s (%d)", f.At, f.For, f.Kind, f.Arg) }

// Rate of requests from an instant on.
type Rate struct {
	From      time.Duration
	PerSecond float64
}

// Plan of a run: what breaks, and the load meanwhile.
type Plan struct {
	Seed   uint64
	Length time.Duration
	Faults []Fault // by their start
	Load   []Rate
}

// The run begins and ends without faults, so that the windows of the guards fill and everything
// can recover.
const calm = 20 * time.Second

// Shortest run: every seed has faults.
const Shortest = 2 * time.Minute

// New makes the plan of a seed. The same seed and length give the same plan.
func New(seed uint64, length time.Duration) (Plan, error) {
	if length < Shortest {
		return Plan{}, fmt.Errorf("a run of %v is too short: use at least %v", length, Shortest)
	}
	p := Plan{Seed: seed, Length: length}
	p.Faults = drawFaults(rand.New(rand.NewPCG(seed, 1)), length)
	p.Load = drawLoad(rand.New(rand.NewPCG(seed, 2)), length)
	return p, nil
}

// drawFaults deals kinds from a shuffled deck, so that a run of some minutes has nearly all of
// them and a long one all of them equally often.
func drawFaults(rng *rand.Rand, length time.Duration) []Fault {
	var faults []Fault
	free := map[string]time.Duration{}
	for at := calm; ; {
		for _, i := range rng.Perm(len(traits)) {
			k := traits[i]
			at += between(rng, time.Second, 9*time.Second)
			f := Fault{Kind: k.kind, At: max(at, free[k.subject]), For: between(rng, k.shortest, k.longest), Arg: rng.IntN(k.args)}
			free[k.subject] = f.At + f.For + 3*time.Second // to be noticed as one that has ended
			if at > length-calm {
				slices.SortStableFunc(faults, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
				return faults
			}
			if f.At+f.For <= length-calm {
				faults = append(faults, f)
			}
		}
	}
}

// between two durations, in whole tenths of a second.
func between(rng *rand.Rand, low, high time.Duration) time.Duration {
	const step = 100 * time.Millisecond
	return low + time.Duration(rng.Int64N(int64((high-low)/step)+1))*step
}

// Load of the run, in requests per second: a wave with bursts on it.
const (
	lowest, highest = 60.0, 220.0
	burst           = 2.5 // times as much
	quiet           = 40.0
)

// drawLoad is a wave of some minutes, bursts of half a minute on it, and little at the end.
func drawLoad(rng *rand.Rand, length time.Duration) []Rate {
	const step = 5 * time.Second
	period := between(rng, 2*time.Minute, 6*time.Minute)
	phase := rng.Float64()
	next := between(rng, calm, 60*time.Second)
	until := time.Duration(0)
	var load []Rate
	for at := time.Duration(0); at < length-calm; at += step {
		if at >= next {
			until = at + between(rng, 15*time.Second, 30*time.Second)
			next = until + between(rng, 30*time.Second, 90*time.Second)
		}
		wave := (1 - math.Cos(2*math.Pi*(float64(at)/float64(period)+phase))) / 2
		rate := lowest + (highest-lowest)*wave
		if at < until {
			rate *= burst
		}
		load = append(load, Rate{at, math.Round(rate)})
	}
	return append(load, Rate{length - calm, quiet})
}

// Rate fits sim.Arrivals: the plan's load as that of one kind of request.
func (p *Plan) Rate(_ int, t time.Duration) (perSecond float64, until time.Duration) {
	i, exact := slices.BinarySearchFunc(p.Load, t, func(r Rate, t time.Duration) int { return cmp.Compare(r.From, t) })
	if !exact {
		i--
	}
	i = max(i, 0)
	if i+1 < len(p.Load) {
		return p.Load[i].PerSecond, p.Load[i+1].From
	}
	return p.Load[i].PerSecond, math.MaxInt64
}
