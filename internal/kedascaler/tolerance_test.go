package kedascaler

import (
	"math"
	"testing"
)

const most = 200 // replicas in the tests that try everything

// With tolerance 0 the HPA ends where the value says, whatever there is now.
func TestToleranceZeroLandsOnDesired(t *testing.T) {
	for current := 1; current <= most; current++ {
		for desired := 0; desired <= most; desired++ {
			if got := HPAReplicas(int64(desired)*1000, current, 0); got != desired {
				t.Fatalf("%d wanted of %d: the HPA takes %d", desired, current, got)
			}
		}
	}
}

// The trap: with the cluster's tolerance, a plain value is swallowed from ten
// replicas on.
func TestPlainValueIsSwallowedFromTenReplicasOn(t *testing.T) {
	for current := 1; current <= most; current++ {
		up := HPAReplicas(int64(current+1)*1000, current, DefaultHPATolerance)
		down := HPAReplicas(int64(current-1)*1000, current, DefaultHPATolerance)
		if swallowed := current >= 10; (up == current) != swallowed || (down == current) != swallowed {
			t.Errorf("at %d replicas one more gives %d, one fewer %d", current, up, down)
		}
	}
}

// hpaBefore133 judged the tolerance by the distance from 1, which at exactly a
// tenth comes out otherwise.
func hpaBefore133(thousandths int64, current int, tolerance float64) int {
	if math.Abs(1-float64(thousandths)/(1000*float64(current))) <= tolerance {
		return current
	}
	return int(math.Ceil(float64(thousandths) / 1000))
}

// thousandths are what the HPA may see of a value: KEDA has cut and has rounded.
func thousandths(value float64) []int64 {
	return []int64{int64(value * 1000), int64(math.Round(value * 1000)), int64(math.Ceil(value * 1000))}
}

func TestOvershootLandsOnDesiredOrJustBeyondTheTolerance(t *testing.T) {
	arithmetics := map[string]func(int64, int, float64) int{"from 1.33": HPAReplicas, "before 1.33": hpaBefore133}
	for _, tolerance := range []float64{0, 0.01, 0.05, DefaultHPATolerance, 0.2, 0.5} {
		for name, hpa := range arithmetics {
			for current := 1; current <= most; current++ {
				for desired := 0; desired <= most; desired++ {
					for _, v := range thousandths(ValueBeyondTolerance(desired, current, tolerance)) {
						got := hpa(v, current, tolerance)
						if fault := wrongLanding(got, desired, current, tolerance); fault != "" {
							t.Fatalf("%s, tolerance %g: %d wanted of %d, the HPA sees %d thousandths and takes %d: %s", name, tolerance,
								desired, current, v, got, fault)
						}
					}
				}
			}
		}
	}
}

// wrongLanding says what is wrong with where the HPA ends.
func wrongLanding(got, desired, current int, tolerance float64) string {
	band := int(tolerance*float64(current)+1e-9) + 1 // what a rise may need to get past the tolerance
	usual := tolerance == DefaultHPATolerance
	switch {
	case got < desired:
		return "too few"
	case desired > current && got > max(desired, current+band):
		return "more than it needs"
	case desired <= current && got != desired && got != current:
		return "neither what is wanted nor what there is"
	case usual && current < 10 && got != desired:
		return "below ten replicas nothing is in the way"
	case usual && current < 20 && got != desired && desired < current:
		return "below twenty replicas every fall can be had"
	case usual && current < 20 && got > desired+1:
		return "more than one above"
	case usual && float64(got-desired) > float64(current)/10:
		return "more than a tenth above"
	}
	return ""
}

// No value at all, in the thousandths that the HPA sees, does better without
// ending below what is wanted.
func TestNoValueLandsNearerThanOvershoot(t *testing.T) {
	for _, current := range []int{1, 2, 9, 10, 11, 15, 19, 20, 21, 29, 30, 45, 50} {
		lands := map[int]bool{}
		for v := int64(0); v <= int64(2*current+2)*1000; v++ {
			lands[HPAReplicas(v, current, DefaultHPATolerance)] = true
		}
		for desired := 0; desired <= 2*current; desired++ {
			nearest := desired
			for !lands[nearest] {
				nearest++
			}
			got := HPAReplicas(int64(ValueBeyondTolerance(desired, current, DefaultHPATolerance)*1000), current, DefaultHPATolerance)
			if got != nearest {
				t.Errorf("%d wanted of %d: %d is reached, %d could be", desired, current, got, nearest)
			}
		}
	}
}

// The value is reckoned anew as the replicas move. That must come to rest, and
// where it rests be no fewer than wanted: below twenty just as many.
func TestOvershootComesToRest(t *testing.T) {
	for start := 1; start <= most; start++ {
		for desired := 1; desired <= most; desired++ {
			current, moves := start, 0
			for ; moves < 5; moves++ {
				next := HPAReplicas(int64(ValueBeyondTolerance(desired, current, DefaultHPATolerance)*1000), current, DefaultHPATolerance)
				if next == current {
					break
				}
				current = next
			}
			if moves > 2 || current < desired || float64(current-desired) > float64(current)/10 || desired < 19 && current != desired {
				t.Fatalf("from %d towards %d it is at %d after %d moves", start, desired, current, moves)
			}
		}
	}
}

func TestOvershootOfAFewAndOfVeryMany(t *testing.T) {
	for _, c := range []struct {
		name             string
		desired, current int
		value            float64
	}{
		{"one more of nine gets through", 10, 9, 10},
		{"one more of ten is swallowed", 11, 10, 12},
		{"two more of ten get through", 12, 10, 12},
		{"one more of nineteen", 20, 19, 21},
		{"one more of twenty costs two", 21, 20, 23},
		{"one more of a hundred costs ten", 101, 100, 111},
		{"one fewer of ten is swallowed, a little less is not", 9, 10, 8 + justAbove},
		{"two fewer of ten get through", 8, 10, 8},
		{"one fewer of a hundred cannot be had", 99, 100, 99},
		{"nothing is nothing", 0, 50, 0},
		{"from nothing KEDA goes first", 3, 0, 3},
		{"the most there can be is reckoned at once", math.MaxInt32, math.MaxInt32 - 1, 2362232011},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ValueBeyondTolerance(c.desired, c.current, DefaultHPATolerance); got != c.value {
				t.Errorf("%d wanted of %d: value %g, want %g", c.desired, c.current, got, c.value)
			}
		})
	}
}

// The replicas may have moved since they were read. Whatever there are by now,
// the HPA then stays, or goes to no fewer than wanted.
func TestOvershootIsSafeWithReplicasThatWereReadTooEarly(t *testing.T) {
	const most = 60
	for read := 1; read <= most; read++ {
		for desired := 0; desired <= most; desired++ {
			for _, v := range thousandths(ValueBeyondTolerance(desired, read, DefaultHPATolerance)) {
				for current := 1; current <= most; current++ {
					if got := HPAReplicas(v, current, DefaultHPATolerance); got != current && got < desired {
						t.Fatalf("%d wanted, %d read, %d there: the HPA takes %d", desired, read, current, got)
					}
				}
			}
		}
	}
}
