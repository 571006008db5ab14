package policy

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// growthSeries is a generated load: a slow wave with correlated noise and random bursts.
func growthSeries(seed uint64, n int) []float64 {
	rng := rand.New(rand.NewPCG(seed, 9))
	series, noise, burst := make([]float64, n), 0.0, 0
	for i := range series {
		noise = 0.8*noise + 0.05*rng.NormFloat64()
		if burst--; burst < -20 && rng.IntN(40) == 0 {
			burst = 6
		}
		series[i] = (100 + 40*math.Sin(float64(i)/200)) * math.Exp(noise)
		if burst > 0 {
			series[i] *= 2.5
		}
	}
	return series
}

// TestForecastKeepsItsShortfallOnHeldOutSeries: of the load that came a minute later, about as much
// was in excess of the forecasts as was asked for, within a factor of 2.
func TestForecastKeepsItsShortfallOnHeldOutSeries(t *testing.T) {
	last := 0.0
	for _, share := range []float64{0.02, 0.005, 0.001} {
		excess, all, promised := 0.0, 0.0, 0.0
		for seed := range uint64(4) {
			series := growthSeries(seed, 6000)
			a := newAnalogs(share)
			for i, load := range series[:len(series)-4] {
				a.learn(plannerStart.Add(time.Duration(i)*15*time.Second), load)
				if i < 3000 {
					continue
				}
				most := load
				for _, later := range series[i+1 : i+5] {
					most = max(most, later)
				}
				ahead := a.ahead(time.Minute)
				all += most
				promised += ahead
				excess += max(most-ahead, 0)
			}
		}
		t.Logf("shortfall %v: %.4f of the load in excess, forecasts of %.2f times what came", share, excess/all, promised/all)
		if got := excess / all; got > 2*share || got < share/2 {
			t.Errorf("shortfall %v: %.4f of the load was in excess of the forecasts", share, got)
		}
		if mean := promised / all; mean > 2.2 || mean < last {
			t.Errorf("shortfall %v: forecasts are %.2f times what came, %.2f with a larger one", share, mean, last)
		}
		last = promised / all
	}
}

func TestForecastExpectsJumpsOnlyFromTheLevelTheyCameFrom(t *testing.T) {
	a := newAnalogs(0.005)
	at := plannerStart
	step := func(load float64, n int) {
		for range n {
			at = at.Add(15 * time.Second)
			a.learn(at, load)
		}
	}
	for range 10 {
		step(120, 24)
		step(400, 8)
	}
	if got := a.ahead(time.Minute); got > 460 {
		t.Errorf("%.0f expected at the height of a burst of 400", got)
	}
	step(120, 8)
	if got := a.ahead(75 * time.Second); got < 390 || got > 460 {
		t.Errorf("%.0f expected between bursts of 400", got)
	}
}

func TestForecastForgetsWhatItDidNotSee(t *testing.T) {
	a := newAnalogs(0.005)
	at := plannerStart
	for range 20 {
		at = at.Add(15 * time.Second)
		a.learn(at, 100)
	}
	a.learn(at.Add(time.Hour), 1000)
	for i := range a.past {
		if g := a.past[i].growth[leadIndex(16*time.Minute)]; g > 0 {
			t.Fatalf("a load after a gap of an hour counts as growth by %.1f", g)
		}
	}
}

func TestSeasonWeighsTheSameHour(t *testing.T) {
	for _, c := range []struct {
		age  time.Duration
		want float64
	}{
		{time.Minute, 1}, {6 * time.Hour, 1}, {24 * time.Hour, 2}, {48*time.Hour - 20*time.Minute, 2}, {36 * time.Hour, 1},
		{7 * 24 * time.Hour, 4}, {7*24*time.Hour + 29*time.Minute, 4}, {6 * 24 * time.Hour, 2},
	} {
		if got := seasonWeight(c.age); got != c.want {
			t.Errorf("a moment %v ago weighs %v, want %v", c.age, got, c.want)
		}
	}
}

func TestLeadIsLearnedFromStarts(t *testing.T) {
	var starts startTimes
	at := plannerStart
	starts.learn(at, nil)
	if got := starts.quantile(at, nil); got < 45*time.Second || got > 60*time.Second {
		t.Fatalf("%v before any start was seen", got)
	}
	id := int64(0)
	started := func(n int, took time.Duration) {
		for range n {
			at = at.Add(time.Minute)
			ready := at.Add(-time.Second)
			id++
			starts.learn(at, []loadline.PodObservation{{ID: id, Phase: loadline.PodReady, Created: ready.Add(-took), Ready: ready}})
		}
	}
	started(40, 4*time.Second)
	if got := starts.quantile(at, nil); got > 6*time.Second {
		t.Errorf("%v after 40 starts of 4 s", got)
	}
	waiting := []loadline.PodObservation{{ID: 1000, Phase: loadline.PodPending, Created: at.Add(-70 * time.Second)}}
	if got := starts.quantile(at, waiting); got != 70*time.Second {
		t.Errorf("%v while a pod has been pending for 70 s", got)
	}
	started(60, 90*time.Second)
	if got := starts.quantile(at, nil); got < 90*time.Second || got > 100*time.Second {
		t.Errorf("%v after 60 starts of 90 s", got)
	}
}

func TestARestartIsNoStart(t *testing.T) {
	var starts startTimes
	at := plannerStart
	starts.learn(at, nil)
	pod := loadline.PodObservation{ID: 7, Phase: loadline.PodReady, Created: at, Ready: at.Add(5 * time.Second)}
	at = at.Add(time.Minute)
	starts.learn(at, []loadline.PodObservation{pod})
	before := starts.of.total
	at = at.Add(time.Hour)
	pod.Phase = loadline.PodStarting // killed for its memory
	starts.learn(at, []loadline.PodObservation{pod})
	if got := starts.quantile(at, []loadline.PodObservation{pod}); got > 2*time.Minute {
		t.Errorf("a lead of %v while a pod of an hour restarts", got)
	}
	pod.Phase, pod.Ready = loadline.PodReady, at.Add(10*time.Second)
	at = at.Add(time.Minute)
	starts.learn(at, []loadline.PodObservation{pod})
	if starts.of.total != before {
		t.Errorf("a restart counts as a start of %v", pod.Ready.Sub(pod.Created))
	}
}

// TestForecastSeesWhatBeginsOnTheMinute: a load that rises to four times within a minute, on the
// hour, is four times as high within 75 s of some calm moments, and not only partly risen.
func TestForecastSeesWhatBeginsOnTheMinute(t *testing.T) {
	a := newAnalogs(0.001)
	most := float32(0)
	for i := range 24 * 240 {
		load := 100.0
		if in := i % 240; in < 40 {
			load = 100 + 300*min(float64(in)/4, 1)
		}
		a.learn(plannerStart.Add(time.Duration(i)*15*time.Second), load)
	}
	for i := range a.past {
		if m := &a.past[i]; m.level < 4.7 {
			most = max(most, m.growth[leadIndex(75*time.Second)])
		}
	}
	if got := math.Exp(float64(most)); got < 3.8 {
		t.Errorf("the load grows by %.2f within 75 s, want 4", got)
	}
}
