package guard_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
)

// TestBurnAgainstCounting holds the buckets against a plain count of every request
// in the window.
func TestBurnAgainstCounting(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := guard.NewBurn(webApp(), maxAge, time.Minute, time.Hour)
	type second struct{ over, all float64 }
	var counted []second // one per 10 s
	sc := newFixture()
	for i := range 1000 {
		rate, over := 50+50*rng.Float64(), 0.0
		if i/100%2 == 1 {
			over = rng.Float64() / 5
		}
		sc.later(10 * time.Second)
		sc.observe(rate, 1, over)
		b.See(sc.now, sc.Situation)
		counted = append(counted, second{rate * over, rate})
		for _, window := range []time.Duration{time.Minute, 10 * time.Minute, time.Hour} {
			n := int(window/(10*time.Second)) + 1
			var sum second
			for _, s := range counted[max(0, len(counted)-n):] {
				sum.over, sum.all = sum.over+s.over, sum.all+s.all
			}
			want := sum.over / sum.all / 0.01
			got, requests, known := b.Rate(0, window)
			if !known || math.Abs(got-want) > 1e-6*max(1, want) || math.Abs(requests-10*sum.over) > 1e-6*max(1, requests) {
				t.Fatalf("after %d steps over %v: burn %v of %v requests, want %v of %v", i, window, got, requests, want, 10*sum.over)
			}
		}
	}
}

func TestBurnCountsASampleOnce(t *testing.T) {
	b := guard.NewBurn(webApp(), maxAge, time.Minute, time.Hour)
	sc := newFixture()
	sc.observe(100, 1, 0.5)
	for range 5 {
		b.See(sc.now, sc.Situation)
		sc.later(time.Second)
	}
	if _, over, _ := b.Rate(0, time.Minute); over != 100*10*0.5 {
		t.Errorf("%v requests over, want those of one bucket of 10 s", over)
	}
}

func TestBurnFires(t *testing.T) {
	conditions := guard.Defaults().Burn.Windows
	for name, row := range map[string]struct {
		over    func(minute int) float64
		rate    float64
		minutes int // until it must fire; 0 = never within two hours
	}{
		"all is well":                          {func(int) float64 { return 0 }, 100, 0},
		"at the edge of the SLO":               {func(int) float64 { return 0.01 }, 100, 0},
		"an outage":                            {func(m int) float64 { return pastHour(m, 1) }, 100, 62},
		"a bad release":                        {func(m int) float64 { return pastHour(m, 0.2) }, 100, 66},
		"a slow leak":                          {func(m int) float64 { return pastHour(m, 0.04) }, 100, 110},
		"a hiccup that is over":                {func(m int) float64 { return only(m, 60, 0.5) }, 100, 0},
		"one request in the night that failed": {func(m int) float64 { return only(m, 60, 1) }, 0.01, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := guard.NewBurn(webApp(), maxAge, time.Minute, time.Hour)
			sc := newFixture()
			fired := 0
			for m := 0; m < 120 && fired == 0; m++ {
				for range 4 {
					sc.later(15 * time.Second)
					sc.observe(row.rate, 1, row.over(m))
					b.See(sc.now, sc.Situation)
				}
				if _, _, firing := b.Firing(conditions, 10); firing {
					fired = m + 1
				}
			}
			if (fired == 0) != (row.minutes == 0) || fired > row.minutes {
				t.Errorf("fired in minute %d, want by %d", fired, row.minutes)
			}
		})
	}
}

// TestBurnDoesNotTakeMinutesForAnHour: a young process has seen too little to
// speak of a long window.
func TestBurnDoesNotTakeMinutesForAnHour(t *testing.T) {
	b := guard.NewBurn(webApp(), maxAge, time.Minute, time.Hour)
	sc := newFixture()
	slow := []guard.BurnWindows{{Short: 10 * time.Minute, Long: time.Hour, Rate: 3}}
	for minute := range 60 {
		for range 4 {
			sc.later(15 * time.Second)
			sc.observe(100, 1, 0.04)
			b.See(sc.now, sc.Situation)
		}
		_, _, firing := b.Firing(slow, 10)
		if minute < 44 && firing || minute > 46 && !firing { // 4 % of 45 minutes are 3 % of an hour
			t.Fatalf("firing %v after %d minutes", firing, minute+1)
		}
	}
}

func pastHour(minute int, over float64) float64 {
	if minute >= 60 {
		return over
	}
	return 0
}

func only(minute, at int, over float64) float64 {
	if minute == at {
		return over
	}
	return 0
}

func TestBurnDoesNotGrow(t *testing.T) {
	b := guard.NewBurn(webApp(), maxAge, time.Minute, time.Hour)
	sc := newFixture()
	b.See(sc.now, sc.Situation)
	if n := testing.AllocsPerRun(1000, func() {
		sc.later(15 * time.Second)
		sc.Now().Kinds[0].OverSLO = loadline.Sample{Value: 0.1, At: sc.now}
		b.See(sc.now, sc.Situation)
	}); n > 0 {
		t.Errorf("%v allocations per observation", n)
	}
}
