package workload

import "time"

// builtin is a named workload, to start without a file. Peak and Scale fit it to an
// application.
type builtin struct {
	name, help, spec string
	duration         time.Duration // default
}

var builtins = []builtin{
	{"day", "a working day: a wave, a lunch peak and noise",
		"diurnal:low=40,high=200,peak=15h+flash:at=11h30m,factor=1.35,rise=30m,hold=45m,fall=45m+noise:cv=0.06,corr=5m", 24 * time.Hour},
	{"week", "seven days with a quiet weekend, and noise", "weekly:low=40,high=200,peak=15h,weekend=0.55+noise:cv=0.08,corr=10m",
		7 * 24 * time.Hour},
	{"flashcrowd", "an hour of calm in which five times the load comes within a minute",
		"constant:rps=60+flash:at=20m,factor=5,rise=1m,hold=10m,fall=10m+noise:cv=0.05", time.Hour},
	{"bursts", "two hours of a quiet load with busy minutes at random times", "bursty:low=60,high=240,calm=8m,burst=2m+noise:cv=0.05",
		2 * time.Hour},
	{"steps", "an hour of one rate, then three times as much for half of it", "step:from=60,to=180,at=30m", time.Hour},
}

func builtinNames() []string {
	var names []string
	for _, b := range builtins {
		names = append(names, b.name)
	}
	return names
}
