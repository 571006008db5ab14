package event

import (
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/sim"
)

// fingerprint is everything that the exporters and the meter show, to the last bit.
func fingerprint(t *testing.T, app *loadline.App, seed uint64) string {
	t.Helper()
	e := New(sim.Config{App: app, Load: constant{40, 20}, Seed: seed})
	for s := range 60 {
		e.AdvanceTo(time.Duration(s) * time.Second)
		e.Apply(set(s%4, loadline.Setting{Replicas: loadline.Some(1 + s%3)}))
	}
	e.Finish()
	var r sim.Reading
	e.Read(&r)
	out, err := json.Marshal([]any{r, e.Meter().Kinds, e.Meter().Services, e.Meter().Kinds[0].Latency.Sum()})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestSameSeedSameBytesWhateverGOMAXPROCS(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, clients := range []func(*loadline.App) *loadline.App{plain, impatient} {
		runtime.GOMAXPROCS(1)
		one := fingerprint(t, clients(shop()), 7)
		runtime.GOMAXPROCS(4)
		if fingerprint(t, clients(shop()), 7) != one {
			t.Error("the same seed gave different results")
		}
		if fingerprint(t, clients(shop()), 8) == one {
			t.Error("another seed gave the same results")
		}
	}
}

// Memory does not grow with simulated time, and a step allocates nothing.
func TestAdvancingDoesNotAllocate(t *testing.T) {
	for _, clients := range []func(*loadline.App) *loadline.App{plain, impatient} {
		e := New(sim.Config{App: clients(shop()), Load: constant{60, 20}, Seed: 1})
		e.AdvanceTo(5 * time.Minute)
		allocs := testing.AllocsPerRun(20, func() { e.AdvanceTo(e.time() + 5*time.Second) })
		if allocs > 1 { // more concurrent requests than ever before may still grow a slice
			t.Errorf("%v allocations in 5 s of simulated time", allocs)
		}
	}
}
