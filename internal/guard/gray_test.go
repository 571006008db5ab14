package guard_test

import (
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

func grayGuard() *guard.Gray {
	return guard.NewGray(guard.Gray{
		Part: 0.5, Span: 2 * time.Minute, Retreat: 15 * time.Minute, Window: 2 * time.Minute, Rate: 1, MinOver: 10,
	}, webApp(), maxAge)
}

func TestGrayGoesDownInTwoSteps(t *testing.T) {
	sc, g := newFixture(), grayGuard()
	at := func(d time.Duration, want, got loadline.Setting, why string) {
		t.Helper()
		sc.now = start.Add(d)
		sc.observe(100, 5, 0)
		sc.expect(t, g, want, got, why)
	}
	nothing := loadline.Setting{}
	at(0, toReplicas(4), toReplicas(7), "first of two steps")
	at(time.Minute, toReplicas(4), nothing, "watched")
	at(2*time.Minute, toReplicas(2), toReplicas(4), "second of two steps")
	at(3*time.Minute, toReplicas(2), nothing, "watched")
	at(4*time.Minute, toReplicas(2), toReplicas(3), "first of two steps")
	at(5*time.Minute, toReplicas(9), toReplicas(9), "") // wanted again: the way down is over
	at(5*time.Minute+15*time.Second, toReplicas(5), toReplicas(7), "first of two steps")
}

func TestGrayIsNoWayOfItsOwnForOneReplica(t *testing.T) {
	sc, g := newFixture(), grayGuard()
	sc.expect(t, g, toReplicas(9), toReplicas(9), "")
	sc.later(time.Minute)
	sc.observe(100, 5, 0)
	sc.expect(t, g, toReplicas(8), loadline.Setting{}, "watched")
	sc.later(time.Minute)
	sc.observe(100, 5, 0)
	sc.expect(t, g, toReplicas(8), toReplicas(8), "")
}

func TestGrayBacksOut(t *testing.T) {
	for name, silent := range map[string]bool{"while the policy insists": false, "while the policy is silent": true} {
		t.Run(name, func(t *testing.T) {
			sc, g := newFixture(), grayGuard()
			want := loadline.Setting{Replicas: loadline.Some(4), CPULimit: loadline.Some(0.5)}
			sc.expect(t, g, want, loadline.Setting{Replicas: loadline.Some(7), CPULimit: loadline.Some(0.75)}, "first of two steps")
			if silent {
				want = loadline.Setting{}
			}
			sc.later(time.Minute)
			sc.observe(100, 5, 0.2)
			sc.expect(t, g, want, loadline.Setting{Replicas: loadline.Some(10), CPULimit: loadline.Some(1.0)}, "reverted")
			sc.later(14 * time.Minute)
			sc.observe(100, 5, 0)
			sc.expect(t, g, toReplicas(4), loadline.Setting{}, "reverted")
			sc.later(time.Minute)
			sc.observe(100, 5, 0)
			sc.expect(t, g, toReplicas(4), toReplicas(7), "first of two steps")
		})
	}
}

// TestGrayWaitsForMeasurements: without a measured SLO the watch goes on.
func TestGrayWaitsForMeasurements(t *testing.T) {
	sc, g := newFixture(), grayGuard()
	sc.expect(t, g, toReplicas(4), toReplicas(7), "first of two steps")
	sc.later(5 * time.Minute)
	sc.blind()
	sc.expect(t, g, toReplicas(4), loadline.Setting{}, "watched")
	sc.later(time.Minute)
	sc.observe(100, 5, 0)
	sc.expect(t, g, toReplicas(4), loadline.Setting{}, "watched")
	sc.later(time.Minute)
	sc.observe(100, 5, 0)
	sc.expect(t, g, toReplicas(4), toReplicas(6), "first of two steps") // it was not watched all the time
}
