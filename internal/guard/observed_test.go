package guard_test

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

func observedGuard() *guard.Observed {
	return guard.NewObserved(guard.Observed{Window: 3 * time.Minute, MaxAge: maxAge, OfLimit: 0.8, OfRequest: 1, OfWorkers: 0.5,
		OfMemory: 0.8}, 1)
}

func TestObserved(t *testing.T) {
	cpu, memory := loadline.Some[float64], loadline.Some[int64]
	for name, row := range map[string]struct {
		change    func(*fixture)
		want, got loadline.Setting
		why       string
	}{
		"what the load leaves room for passes": {nil, toReplicas(8), toReplicas(8), ""},
		"not below what five cores need":       {nil, toReplicas(2), toReplicas(7), "are too few"},
		"raises are not its business":          {nil, toReplicas(30), toReplicas(30), ""},
		"never more than there are": {func(sc *fixture) { sc.observe(100, 50, 0) }, toReplicas(2), toReplicas(10),
			"are too few"},
		"busy workers count too": {func(sc *fixture) { sc.web().Concurrency = sc.sample(44) }, toReplicas(7),
			toReplicas(9), "visits"},
		"a smaller limit must hold the load": {nil, loadline.Setting{CPULimit: cpu(0.5)}, loadline.Setting{},
			"cores have been in use"},
		"a little smaller is all right": {nil, loadline.Setting{CPULimit: cpu(0.7)}, loadline.Setting{CPULimit: cpu(0.7)}, ""},
		"fewer larger replicas are all right": {nil, loadline.Setting{Replicas: loadline.Some(4), CPULimit: cpu(2)},
			loadline.Setting{Replicas: loadline.Some(4), CPULimit: cpu(2)}, ""},
		"without a limit the request is the room": {func(sc *fixture) { sc.InFlight[0].Size.CPULimit = 0 }, toReplicas(5), toReplicas(10),
			"are too few"},
		"memory stays above what a pod uses": {nil, loadline.Setting{MemoryLimit: memory(60 << 20)}, loadline.Setting{},
			"a pod has used 50 MiB"},
		"memory that is not used may go": {nil, loadline.Setting{MemoryLimit: memory(150 << 20)},
			loadline.Setting{MemoryLimit: memory(150 << 20)}, ""},
		"nothing seen, nothing taken away": {(*fixture).blind, toReplicas(9), loadline.Setting{}, "no measured CPU"},
		"memory not measured, memory stays": {(*fixture).blind, loadline.Setting{MemoryLimit: memory(150 << 20)}, loadline.Setting{},
			"not measured"},
		"no requests: zero is allowed": {func(sc *fixture) { sc.observe(0, 0.1, 0) }, toReplicas(0), toReplicas(0), ""},
		"requests: zero is refused":    {func(sc *fixture) { sc.observe(0.1, 0.1, 0) }, toReplicas(0), toReplicas(2), "are too few"},
		"no size to measure by": {func(sc *fixture) { sc.InFlight[0].Size = loadline.Size{}; sc.App.Services[0].Workers = 0 },
			toReplicas(9), loadline.Setting{}, "to compare it with"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newFixture()
			if row.change != nil {
				row.change(sc)
			}
			g := observedGuard()
			sc.watch(g, 3*time.Minute)
			sc.expect(t, g, row.want, row.got, row.why)
		})
	}
}

// TestObservedRemembersThePeak: the lull of an instant is no reason either.
func TestObservedRemembersThePeak(t *testing.T) {
	sc := newFixture()
	g := observedGuard()
	sc.watch(g, 3*time.Minute)
	sc.later(2 * time.Minute)
	sc.observe(10, 0.5, 0)
	sc.expect(t, g, toReplicas(1), toReplicas(7), "are too few")
	sc.later(2 * time.Minute)
	sc.observe(10, 0.5, 0)
	sc.expect(t, g, toReplicas(2), toReplicas(2), "")
}
