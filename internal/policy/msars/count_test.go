package msars

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/loadline/loadline"
)

// TestKindsThatAreNotDistinguishedHaveTheirShares: in a cluster the metrics may not distinguish
// operations. The entry's rate is still known.
func TestKindsThatAreNotDistinguishedHaveTheirShares(t *testing.T) {
	absent := loadline.Sample{}
	for _, row := range []struct {
		name      string
		buy, find loadline.Sample // of 40 at the front end
		want      [2]float64      // the share of buy is three times that of find
		why       string
	}{
		{"both are counted", seen(20), seen(20), [2]float64{20, 20}, "it is the first"},
		{"neither is", absent, absent, [2]float64{30, 10}, "it is the first (buy, find by their shares of what front is asked)"},
		{"one is", seen(15), absent, [2]float64{15, 25}, "it is the first (find by their shares of what front is asked)"},
		{"the other has all", absent, seen(41), [2]float64{0, 41}, "it is the first (buy by their shares of what front is asked)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			app := shop()
			s := calm(app)
			s.Window[0].Kinds[0].Rate, s.Window[0].Kinds[1].Rate = row.buy, row.find
			d := divided(t, app, Division{Way: "parslo", Profiles: profiles(app)}, s)
			for k, want := range row.want {
				if math.Abs(d.rates[k]-want) > 1e-9 {
					t.Errorf("%s: %v requests/s, want %v", app.Kinds[k].Name, d.rates[k], want)
				}
			}
			if why, _ := d.Why(); why != row.why {
				t.Errorf("%q, want %q", why, row.why)
			}
		})
	}
}

func TestAKindThatWasCountedIsNotGuessed(t *testing.T) {
	app := shop()
	s := calm(app)
	d := divided(t, app, Division{Way: "parslo", Profiles: profiles(app)}, s)
	s.Window[0].Kinds[1].Rate = loadline.Sample{}
	s.Window[0].Services[0].Rate = seen(400)
	if anew, err := d.Update(noon, s.Now(), s.InFlight); err != nil || anew || d.rates[1] != 20 {
		t.Errorf("%v, %v: %v requests/s, want the 20 of before", anew, err, d.rates[1])
	}
	d.Forget()
	if anew, err := d.Update(noon, s.Now(), s.InFlight); err != nil || !anew || d.rates[1] != 380 {
		t.Errorf("%v, %v: %v requests/s, want what is left of 400", anew, err, d.rates[1])
	}
}

func TestAWorkloadWithoutALimitIsNamed(t *testing.T) {
	app := shop()
	s := calm(app)
	d := divided(t, app, Division{Way: "parslo", Profiles: profiles(app)}, s)
	was := s.InFlight[1].Size
	s.InFlight[1].Size.CPULimit = 0
	for range 2 { // until one is set
		_, err := d.Update(noon, s.Now(), s.InFlight)
		if !errors.Is(err, loadline.ErrNoData) || !strings.Contains(err.Error(),
			"profile of cart at p99 without a CPU limit, only with one: set the limits") {
			t.Errorf("%v", err)
		}
	}
	s.InFlight[1].Size = was
	if _, err := d.Update(noon, s.Now(), s.InFlight); err != nil {
		t.Error(err)
	}
}
