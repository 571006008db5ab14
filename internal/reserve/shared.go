package reserve

import (
	"math"
	"time"

	"github.com/loadline/loadline"
)

// Wish is what one application wants kept free, and what its pods request now.
type Wish struct {
	Name       string // unique
	Wanted     loadline.Room
	Requested  loadline.Room
	LargestPod loadline.Room // of those that may come
}

// Count adds replicas of a service: what they request, and, of an application that wants room, the
// size of a pod that may come.
func (w *Wish) Count(pod loadline.Room, replicas int, wants bool) {
	w.Requested.Cores += pod.Cores * float64(replicas)
	w.Requested.Memory += pod.Memory * int64(replicas)
	if wants {
		w.LargestPod = larger(w.LargestPod, pod)
	}
}

const (
	// Every is the time between two updates of a reserve.
	Every = 10 * time.Second
	// DefaultLead is until a node is ready and its pods are, where the pools of nodes are not known.
	DefaultLead = 2 * time.Minute

	// recordStep is the time between two entries of the record.
	recordStep = time.Minute
	// recordLength is how many there are: six hours, which is longer than a burst and
	// shorter than a day, so that the hours of the day have their own figures.
	recordLength = 360
	// recordLeast is how many are needed before the record counts.
	recordLeast = 60
	// holdFor is how long the highest wish of all together is held, which is the time
	// that node autoscalers wait before they remove a node (Cluster Autoscaler: 10
	// minutes).
	holdFor = 10 * time.Minute
)

// Shared is the reserve of some applications. The zero value has no record.
type Shared struct {
	slot    int64                      // of the newest entries
	records map[string][]loadline.Room // what each application requested, oldest first
	recent  []wanted                   // by all together
}

type wanted struct {
	at        time.Time
	room, pod loadline.Room
}

// Size returns the room to keep free for all applications together, and the size of the
// largest pod that it is for, rounded up by at most a quarter, so that small changes of
// size do not replace the pods of the reserve. Both rise at once, and fall to the highest
// of the last ten minutes. Lead is the time until a new node is ready.
func (s *Shared) Size(now time.Time, lead time.Duration, wishes []Wish) (room, pod loadline.Room) {
	s.note(now, wishes)
	for _, w := range wishes {
		pod = larger(pod, loadline.Room{Cores: coarse(w.LargestPod.Cores), Memory: int64(coarse(float64(w.LargestPod.Memory)))})
	}
	s.Resume(now, s.combine(lead, wishes), pod)
	for _, w := range s.recent {
		room, pod = larger(room, w.room), larger(pod, w.pod)
	}
	return room, pod
}

// Pods are what holds the room for all applications together, and the room that they are for, within
// a maximum; nil = any.
func (s *Shared) Pods(now time.Time, lead time.Duration, wishes []Wish, most *loadline.Room) (Pods, loadline.Room) {
	wanted, pod := s.Size(now, lead, wishes)
	limit := loadline.Room{Cores: 1e9, Memory: 1 << 62}
	if most != nil {
		limit = *most
		wanted = loadline.Room{Cores: min(wanted.Cores, limit.Cores), Memory: min(wanted.Memory, limit.Memory)}
	}
	return InPods(wanted, pod, limit), wanted
}

// coarse rounds up to one of four steps from a power of two to the next.
func coarse(v float64) float64 {
	if v <= 0 {
		return 0
	}
	step := math.Exp2(math.Floor(math.Log2(v))) / 4
	return math.Ceil(v/step-1e-9) * step
}

// Resume makes room that is held in pods of some size count as wanted at an instant: a
// process that starts does not give up at once what the one before it has held.
func (s *Shared) Resume(now time.Time, held, pod loadline.Room) {
	kept := s.recent[:0]
	for _, w := range s.recent {
		if now.Sub(w.at) < holdFor {
			kept = append(kept, w)
		}
	}
	s.recent = append(kept, wanted{now, held, pod})
}

func larger(a, b loadline.Room) loadline.Room {
	return loadline.Room{Cores: max(a.Cores, b.Cores), Memory: max(a.Memory, b.Memory)}
}

// note adds what the applications request to the record, once per step. After a gap
// the record begins anew.
func (s *Shared) note(now time.Time, wishes []Wish) {
	slot := now.UnixNano() / int64(recordStep)
	if slot == s.slot {
		return
	}
	if slot != s.slot+1 || s.records == nil {
		s.records = map[string][]loadline.Room{}
	}
	s.slot = slot
	next := make(map[string][]loadline.Room, len(wishes))
	for _, w := range wishes {
		r := append(s.records[w.Name], w.Requested)
		next[w.Name] = r[max(0, len(r)-recordLength):]
	}
	s.records = next
}

// combine the wishes. An application wants room for its growth until a new node is
// ready, at a high quantile. Of this growth, mu is the mean and d the rest. Means add
// up. The rest of independent applications adds up as the root of the sum of squares;
// that of applications that grow at the same time, as the record shows it, adds up to
// more: the standard deviation of the sum of d times the standardised growth of each.
// The result is between the largest wish and the sum of all.
func (s *Shared) combine(lead time.Duration, wishes []Wish) loadline.Room {
	steps := max(1, int((lead+recordStep-1)/recordStep))
	cores := s.jointly(steps, wishes, func(r loadline.Room) float64 { return r.Cores })
	memory := s.jointly(steps, wishes, func(r loadline.Room) float64 { return float64(r.Memory) })
	return loadline.Room{Cores: cores, Memory: int64(math.Ceil(memory))}
}

// jointly is combine for one resource.
func (s *Shared) jointly(steps int, wishes []Wish, of func(loadline.Room) float64) float64 {
	length := s.commonLength(steps, wishes)
	joint := make([]float64, length) // the sum of d times the standardised growth, over time
	growth := make([]float64, length)
	var means, squares, unrecorded float64
	for _, w := range wishes {
		wish := max(0, of(w.Wanted))
		record := s.records[w.Name]
		if length == 0 || len(record) < length+steps {
			squares += wish * wish
			unrecorded += wish * wish
			continue
		}
		mean, deviation := growthOf(record[len(record)-length-steps:], steps, of, growth)
		mean = min(mean, wish)
		rest := wish - mean
		means += mean
		squares += rest * rest
		if deviation == 0 { // it did not grow: nothing says that it grows with others
			unrecorded += rest * rest
			continue
		}
		for k, g := range growth {
			joint[k] += rest * g / deviation
		}
	}
	return means + math.Sqrt(max(squares, unrecorded+variance(joint)))
}

// commonLength is how many growths all records that are long enough have.
func (s *Shared) commonLength(steps int, wishes []Wish) int {
	length := 0
	for _, w := range wishes {
		if n := len(s.records[w.Name]) - steps; n >= recordLeast && (length == 0 || n < length) {
			length = n
		}
	}
	return length
}

// growthOf fills in by how much a record grows within some steps, less its mean, and
// returns the mean and the standard deviation. A decrease is no growth.
func growthOf(record []loadline.Room, steps int, of func(loadline.Room) float64, into []float64) (mean, deviation float64) {
	for k := range into {
		into[k] = max(0, of(record[k+steps])-of(record[k]))
		mean += into[k]
	}
	mean /= float64(len(into))
	for k := range into {
		into[k] -= mean
	}
	return mean, math.Sqrt(variance(into))
}

// variance of values whose mean is 0.
func variance(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v * v
	}
	return sum / float64(len(values))
}
