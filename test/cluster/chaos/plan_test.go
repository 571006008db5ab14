package chaos

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestPlanIsAFunctionOfTheSeed(t *testing.T) {
	for seed := range uint64(50) {
		a, err := New(seed, 3*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := New(seed, 3*time.Minute); !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d gives two plans", seed)
		}
		if other, _ := New(seed+1, 3*time.Minute); reflect.DeepEqual(a.Faults, other.Faults) {
			t.Errorf("seeds %d and %d give the same faults", seed, seed+1)
		}
	}
	if _, err := New(1, time.Minute); err == nil {
		t.Error("a run of a minute was accepted")
	}
}

// Faults of one subject do not overlap, none reaches into the calm at both ends, and the API
// server is there whenever something needs it.
func TestFaultsKeepApart(t *testing.T) {
	subjects := map[Kind]string{}
	for _, k := range traits {
		if subjects[k.kind] != "" {
			t.Errorf("%q is there twice", k.kind)
		}
		subjects[k.kind] = k.subject
	}
	for seed := range uint64(200) {
		p, err := New(seed, 5*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		ends := map[string]time.Duration{}
		if !slices.IsSortedFunc(p.Faults, func(a, b Fault) int { return int(a.At - b.At) }) {
			t.Errorf("seed %d: faults are not in order", seed)
		}
		for _, f := range p.Faults {
			if s := subjects[f.Kind]; f.At < ends[s] {
				t.Errorf("seed %d: %v begins before %s is whole at %v", seed, f, s, ends[s])
			} else {
				ends[s] = f.At + f.For
			}
			if f.At < calm || f.At+f.For > p.Length-calm {
				t.Errorf("seed %d: %v is outside the run's faulty part", seed, f)
			}
		}
	}
}

// Three minutes have most faults; twenty have all of them, for every seed.
func TestPlansHaveAllFaults(t *testing.T) {
	for seed := range uint64(100) {
		for length, least := range map[time.Duration]int{3 * time.Minute: 12, 20 * time.Minute: len(traits)} {
			p, err := New(seed, length)
			if err != nil {
				t.Fatal(err)
			}
			kinds := map[Kind]bool{}
			for _, f := range p.Faults {
				kinds[f.Kind] = true
			}
			if len(kinds) < least {
				t.Errorf("seed %d, %v: %d kinds of faults, want at least %d", seed, length, len(kinds), least)
			}
		}
	}
}

func TestLoadRisesBurstsAndFalls(t *testing.T) {
	for seed := range uint64(100) {
		p, err := New(seed, 5*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		low, high := p.Load[0].PerSecond, 0.0
		for _, r := range p.Load {
			low, high = min(low, r.PerSecond), max(high, r.PerSecond)
		}
		if low > 2*lowest || high < 1.5*lowest || high > burst*highest {
			t.Errorf("seed %d: load from %v to %v", seed, low, high)
		}
		for at := time.Duration(0); at < p.Length; at += 7 * time.Second {
			rate, until := p.Rate(0, at)
			if rate <= 0 || until <= at {
				t.Fatalf("seed %d: %v per second at %v until %v", seed, rate, at, until)
			}
		}
		if rate, _ := p.Rate(0, p.Length); rate != quiet {
			t.Errorf("seed %d ends with %v per second", seed, rate)
		}
	}
}
