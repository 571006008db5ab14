package bench

import (
	"slices"
	"time"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/workload"
)

const (
	sevenDays = 7 * 24 * time.Hour
	threeDays = 3 * 24 * time.Hour

	// Weeks as others have them, and the second one 5 % larger; a campaign in each, which no earlier
	// data show.
	firstWeek  = "weekly:low=8,high=32,peak=15h,weekend=0.6+noise:cv=0.08,corr=10m"
	secondWeek = "weekly:low=8.4,high=33.6,peak=15h,weekend=0.6+noise:cv=0.08,corr=10m"
	campaign   = "+flash:at=116h,factor=1.8,rise=15m,hold=2h,fall=30m"
	sale       = "+flash:at=84h,factor=2.5,rise=10m,hold=1h,fall=20m"
)

// seasons are two weeks of boutique with releases, growth and events. Rules are tuned on three days
// before the first week. The second week is there twice: with that setting, and tuned again on three
// days after the first week's release.
func seasons() ([]Scene, error) {
	one := Workload{Name: "week-1", Spec: firstWeek + campaign, PastSpec: firstWeek, Past: threeDays,
		Options: workload.Options{Duration: sevenDays}}
	two := one
	two.Name, two.Spec = "week-2", secondWeek+sale
	again := two
	again.Name, again.PastSpec = "week-2-retuned", secondWeek
	var all []Scene
	for _, s := range []struct {
		listed
		perturbation string
		released     float64 // CPU time of the service that uses most, of the first release's
	}{
		{listed{"boutique", 1, one, "eks-4", ""}, "release-week-1", 1},
		{listed{"boutique", 1, two, "eks-4", ""}, "release-week-2-stale", 1},
		{listed{"boutique", 1, again, "eks-4", ""}, "release-week-2", firstRelease},
	} {
		scene, err := s.listed.scene()
		if err != nil {
			return nil, err
		}
		scene.Perturbation = s.perturbation
		if scene.App, err = released(scene.App, s.released); err != nil {
			return nil, err
		}
		all = append(all, scene)
	}
	return all, nil
}

// released is an application after releases of the service that uses most CPU.
func released(a App, factor float64) (App, error) {
	s, err := apps.Busiest(a.Model)
	if err != nil || factor == 1 {
		return a, err
	}
	app := *a.Model
	app.Services = slices.Clone(app.Services)
	cpu := &app.Services[s].CPU.Mean
	*cpu = time.Duration(float64(*cpu) * factor)
	return App{Name: a.Name, Model: &app}, nil
}
