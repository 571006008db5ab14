package pipeline

import (
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/workload"
)

// day of minutes: quiet, a jump at 6:00 that falls by itself, a broad peak around
// 15:00.
func day() *workload.Workload {
	w := &workload.Workload{Name: "day", Step: time.Minute, Rates: make([]float64, 24*60)}
	for i := range w.Rates {
		hour := float64(i) / 60
		w.Rates[i] = 10
		if hour >= 6 && hour < 6.5 {
			w.Rates[i] = 90
		}
		if hour >= 13 && hour < 17 {
			w.Rates[i] = 100 - 20*max(hour-15, 15-hour)
		}
	}
	return w
}

func TestStretchesStandForTheDay(t *testing.T) {
	// They differ most at eight in the evening.
	differ := func(from, to time.Duration) float64 {
		return min(to, 21*time.Hour).Seconds() - max(from, 20*time.Hour).Seconds()
	}
	found, err := stretches(day(), time.Hour, differ)
	if err != nil {
		t.Fatal(err)
	}
	named, sum := map[string]Stretch{}, 0.0
	for i, s := range found {
		named[s.Name] = s
		sum += s.Weight
		if s.Load.Duration() != s.To-s.From || s.To-s.From != 70*time.Minute {
			t.Errorf("%s: %v to %v, load of %v", s.Name, s.From, s.To, s.Load.Duration())
		}
		if i > 0 && s.From < found[i-1].To {
			t.Errorf("%s overlaps with %s", s.Name, found[i-1].Name)
		}
	}
	peak, steepest, typical, quiet := named["peak"], named["steepest"], named["typical"], named["quiet"]
	if at := peak.From + 40*time.Minute; at < 14*time.Hour+50*time.Minute || at > 15*time.Hour+10*time.Minute {
		t.Errorf("the peak's middle is at %v", at)
	}
	if steepest.From > 5*time.Hour+50*time.Minute || steepest.To < 6*time.Hour+10*time.Minute {
		t.Errorf("the steepest is from %v to %v", steepest.From, steepest.To)
	}
	if typical.Load == nil || typical.Load.Mean() != 10 || quiet.Load == nil || quiet.Load.Mean() != 10 {
		t.Errorf("typical %+v, quiet %+v", typical, quiet)
	}
	if at := named["differ"].From + 10*time.Minute; at != 20*time.Hour {
		t.Errorf("they differ from %v on", at)
	}
	// Four hours of the day are nearer to the peak than to anything else, 19.5 are like the night.
	if sum < 1-1e-9 || sum > 1+1e-9 || peak.Weight < 2.0/24 || peak.Weight > 5.0/24 {
		t.Errorf("weights: %v in all, %v for the peak", sum, peak.Weight)
	}
	if calm := typical.Weight + quiet.Weight + named["differ"].Weight; calm < 0.75 || calm > 0.85 {
		t.Errorf("%v of the time is calm", calm)
	}
}

func TestStretchesThatOverlapBecomeOne(t *testing.T) {
	hours := func(name string, from, to float64) Stretch {
		return Stretch{Name: name, From: time.Duration(from * float64(time.Hour)), To: time.Duration(to * float64(time.Hour))}
	}
	got := merged([]Stretch{hours("peak", 3, 4), hours("steepest", 2.5, 3.5), hours("typical", 8, 9)})
	if len(got) != 2 || got[0].Name != "steepest+peak" || got[0].From != hours("", 2.5, 0).From || got[0].To != hours("", 0, 4).To ||
		got[1].Name != "typical" {
		t.Errorf("%+v", got)
	}
}

func TestAShortWorkloadIsTakenWhole(t *testing.T) {
	w, err := day().Slice(0, 2*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	found, err := stretches(w, time.Hour, nil)
	if err != nil || len(found) != 1 || found[0].Name != "whole" || found[0].Load.Duration() != 2*time.Hour || found[0].Weight != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestRulesAreCalibratedOnPeakAndSteepest(t *testing.T) {
	found, err := stretches(day(), time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	if loads := calibrationLoads(found); len(loads) != 2 || loads[0].Load.Max() != 90 || loads[1].Load.Max() != 100 {
		t.Errorf("%d loads", len(loads))
	}
	if loads := calibrationLoads([]Stretch{{Name: wholeStretch, Load: day()}}); len(loads) != 2 {
		t.Errorf("%d loads of the whole: one to search on, one to confirm with another seed", len(loads))
	}
}

func mustScale(t *testing.T, w *workload.Workload, factor float64) *workload.Workload {
	t.Helper()
	out, err := w.Scale(factor)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRemarksOnPoorPasts(t *testing.T) {
	s := smallSubject(t)
	flat := *s.Training
	flat.Rates = make([]float64, len(s.Training.Rates))
	for i := range flat.Rates {
		flat.Rates[i] = 5
	}
	s.Training, s.Notes = &flat, nil
	s.remark()
	text := strings.Join(s.Notes, "\n")
	for _, want := range []string{"the load is nearly constant", "policies are evaluated above the load that they were trained on"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}
