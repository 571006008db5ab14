package reserve

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim/pool"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func cores(c float64) loadline.Room { return loadline.Room{Cores: c, Memory: int64(c * (1 << 30))} }

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestWithoutARecordApplicationsAreIndependent(t *testing.T) {
	var s Shared
	got, _ := s.Size(start, time.Minute, []Wish{{Name: "a", Wanted: cores(3)}, {Name: "b", Wanted: cores(4)}})
	near(t, "the reserve", got.Cores, 5)
	near(t, "its memory", float64(got.Memory), 5*(1<<30))
}

// record lets applications request what load says for some hours, a minute apart.
func (s *Shared) record(minutes int, wishes []Wish, load func(minute int) []float64) (end time.Time, last loadline.Room) {
	for m := range minutes {
		for i, l := range load(m) {
			wishes[i].Requested = cores(l)
		}
		end = start.Add(time.Duration(m) * time.Minute)
		last, _ = s.Size(end, time.Minute, wishes)
	}
	return end, last
}

// bursts is a load of 10 cores with 4 more in one of twenty minutes.
func bursts(rng *rand.Rand) float64 {
	if rng.IntN(20) == 0 {
		return 14
	}
	return 10
}

func TestApplicationsThatGrowTogetherAddUp(t *testing.T) {
	for _, row := range []struct {
		name     string
		together bool
		low, up  float64
	}{{"together: nearly the sum of both", true, 7.9, 8.0001}, {"apart: as independent ones", false, 5.6, 6.3}} {
		t.Run(row.name, func(t *testing.T) {
			var s Shared
			rng := rand.New(rand.NewPCG(1, 2))
			_, got := s.record(360, []Wish{{Name: "a", Wanted: cores(4)}, {Name: "b", Wanted: cores(4)}}, func(int) []float64 {
				a := bursts(rng)
				if row.together {
					return []float64{a, a}
				}
				return []float64{a, bursts(rng)}
			})
			if got.Cores < row.low || got.Cores > row.up {
				t.Errorf("%v cores, want from %v to %v", got.Cores, row.low, row.up)
			}
		})
	}
}

// A steady rise is room that each application needs, so it adds up.
func TestMeansAddUp(t *testing.T) {
	var s Shared
	_, got := s.record(120, []Wish{{Name: "a", Wanted: cores(2)}, {Name: "b", Wanted: cores(2)}},
		func(m int) []float64 { return []float64{float64(m), float64(m)} })
	near(t, "the reserve", got.Cores, 1+1+math.Sqrt2)
}

// Whatever the record is, the reserve is between the largest wish and the sum of all.
func TestBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		var s Shared
		wishes := make([]Wish, 1+rng.IntN(6))
		sum, largest := 0.0, 0.0
		for i := range wishes {
			w := rng.Float64() * 10
			wishes[i] = Wish{Name: string(rune('a' + i)), Wanted: cores(w)}
			sum, largest = sum+w, max(largest, w)
		}
		common := rng.Float64()
		_, got := s.record(60+rng.IntN(200), wishes, func(m int) []float64 {
			shared := rng.Float64() * 5 * common
			load := make([]float64, len(wishes))
			for i := range load {
				load[i] = shared + rng.Float64()*10 + float64(m%60)/10
			}
			return load
		})
		if got.Cores < largest-1e-9 || got.Cores > sum+1e-9 {
			t.Fatalf("%v cores for wishes of %v to %v together", got.Cores, largest, sum)
		}
	}
}

func TestUpAtOnceAndDownAfterAWhile(t *testing.T) {
	var s Shared
	at := func(after time.Duration, wish float64) float64 {
		room, _ := s.Size(start.Add(after), time.Minute, []Wish{{Name: "a", Wanted: cores(wish)}})
		return room.Cores
	}
	near(t, "at first", at(0, 2), 2)
	near(t, "more", at(10*time.Second, 5), 5)
	near(t, "less, at once", at(20*time.Second, 1), 5)
	near(t, "less, after nine minutes", at(9*time.Minute, 1), 5)
	near(t, "less, after ten", at(10*time.Minute+10*time.Second, 1), 1)
}

func TestAnotherProcessGoesOnWithWhatIsHeld(t *testing.T) {
	var s Shared
	s.Resume(start, cores(7), cores(2))
	room, pod := s.Size(start.Add(time.Second), time.Minute, nil)
	near(t, "after the start", room.Cores, 7)
	near(t, "a pod after the start", pod.Cores, 2)
	room, pod = s.Size(start.Add(11*time.Minute), time.Minute, nil)
	near(t, "later", room.Cores, 0)
	near(t, "a pod later", pod.Cores, 0)
}

func TestAGapBeginsTheRecordAnew(t *testing.T) {
	var s Shared
	wishes := []Wish{{Name: "a", Wanted: cores(2)}, {Name: "b", Wanted: cores(2)}}
	end, _ := s.record(120, wishes, func(m int) []float64 { return []float64{float64(m), float64(m)} })
	got, _ := s.Size(end.Add(time.Hour), time.Minute, wishes)
	near(t, "the reserve", got.Cores, 2*math.Sqrt2)
}

// Pods of the reserve are replaced if their size changes, so it changes rarely.
func TestTheSizeOfPodsIsCoarse(t *testing.T) {
	for _, row := range []struct{ pod, want float64 }{{1, 1}, {1.01, 1.25}, {1.9, 2}, {0.1, 0.109375}, {0.3, 0.3125}, {3.2, 3.5}, {0, 0}} {
		var s Shared
		_, pod := s.Size(start, time.Minute, []Wish{{Name: "a", LargestPod: loadline.Room{Cores: row.pod}}, {Name: "b"}})
		near(t, "a pod", pod.Cores, row.want)
	}
}

func TestInPods(t *testing.T) {
	most := loadline.Room{Cores: 8, Memory: 32 << 30}
	for _, row := range []struct {
		name                string
		room, largest, most loadline.Room
		size                loadline.Room
		count               int
	}{
		{"rounded up", cores(3.2), cores(1), most, cores(1), 4},
		{"a whole number stays", loadline.Room{Cores: 0.3, Memory: 3 << 20}, loadline.Room{Cores: 0.1, Memory: 1 << 20}, most,
			loadline.Room{Cores: 0.1, Memory: 1 << 20}, 3},
		{"memory decides", loadline.Room{Cores: 1, Memory: 6 << 30}, cores(1), most, cores(1), 6},
		{"within the maximum", cores(100), cores(3), most, cores(3), 2},
		{"a pod above the maximum", cores(100), loadline.Room{Cores: 20, Memory: 1 << 30}, most, loadline.Room{Cores: 8, Memory: 1 << 30}, 1},
		{"nothing", loadline.Room{}, cores(1), most, loadline.Room{}, 0},
		{"pods without requests", cores(2), loadline.Room{}, most, cores(2), 1},
		{"milli-cores", cores(1), loadline.Room{Cores: 0.33333, Memory: 1 << 30}, most, loadline.Room{Cores: 0.334, Memory: 1 << 30}, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := InPods(row.room, row.largest, row.most)
			if got.Count != row.count || got.Size != row.size {
				t.Errorf("%+v, want %d of %+v", got, row.count, row.size)
			}
			if all := got.Room(); all.Cores > row.most.Cores+1e-9 || all.Memory > row.most.Memory {
				t.Errorf("%+v is above the maximum", all)
			}
		})
	}
}

func TestCost(t *testing.T) {
	p := pool.Prices{CoreHour: 0.03, GiBHour: 0.004, Instances: map[string]float64{"m5.xlarge": 0.2}}
	near(t, "by cores and memory", Cost(loadline.Room{Cores: 2, Memory: 4 << 30}, p, pool.Type{}), 0.076)
	node := pool.Type{Name: "m5.xlarge", Cores: 4, Memory: 16 << 30}
	near(t, "by cores of a node", Cost(loadline.Room{Cores: 2, Memory: 4 << 30}, p, node), 0.1)
	near(t, "by memory of a node", Cost(loadline.Room{Cores: 1, Memory: 16 << 30}, p, node), 0.2)
}
