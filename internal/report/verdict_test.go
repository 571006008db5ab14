package report

import (
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	hpa := contender{label: "hpa", policy: "hpa", cost: []float64{2, 2.1, 2.2}, over: 0.001}
	with := func(c contender, change func(*contender)) contender { change(&c); return c }
	broken := func(c *contender) { c.over = 0.021 }
	named := func(label, policy string, cost ...float64) contender {
		return contender{label: label, policy: policy, cost: cost, over: 0.002}
	}
	for name, row := range map[string]struct {
		contenders []contender
		sentence   string
		note       string // part of a note; empty = no note
		winner     int
	}{
		"a clear winner": {[]contender{hpa, named("kpa", "kpa", 1, 1.1, 1.2)},
			"kpa is cheapest with the SLO met: 1.10 core-hours (0.99 to 1.21), 48 % cheaper than the next, hpa.", "", 1},
		"the baseline is neither first nor second": {[]contender{hpa, named("kpa", "kpa", 1, 1.1, 1.2),
			named("ursa", "ursa", 1.5, 1.6, 1.8)},
			"kpa is cheapest with the SLO met: 1.10 core-hours (0.99 to 1.21), 33 % (24 to 41 %) cheaper than the next, ursa, and 48 " +
				"% cheaper than the baseline hpa.", "", 1},
		"within chance": {[]contender{hpa, named("kpa", "kpa", 2.3, 1.9, 2.0)},
			"The cost of kpa and hpa, the cheapest with the SLO met, does not differ significantly: 2.07 core-hours (1.86 to 2.27) " +
				"and 2.10 core-hours (1.89 to 2.31); seed by seed they differ by −0.75 to 0.68.", "", -1},
		"one seed": {[]contender{named("hpa", "hpa", 2), named("kpa", "kpa", 1)},
			"kpa is cheapest with the SLO met, in one run each: 1.00 core-hours (0.90 to 1.10), 50 % cheaper than the next, hpa. One " +
				"seed gives no interval.", "", 1},
		"only one keeps the SLO": {[]contender{with(hpa, broken), named("kpa", "kpa", 3, 3, 3)},
			"kpa is the only one of 2 that meets the SLO, at 3.00 core-hours (2.70 to 3.30).",
			"The baseline hpa violates the SLO (2.1 % of requests over it in its worst run): its 2.10 core-hours", 1},
		"no policy meets it": {[]contender{with(hpa, broken), with(hpa, func(c *contender) { c.label, c.over = "kpa", 0.5 })},
			"No policy meets the SLO. hpa comes closest, with 2.1 % of requests over it in its worst run, where 1.0 % is allowed.",
			"The baseline hpa violates the SLO", -1},
		"the default beats the calibrated": {[]contender{hpa, named("hpa (calibrated)", "hpa:target=50", 2.5, 2.6, 2.7)},
			"hpa is cheapest with the SLO met: 2.10 core-hours (1.89 to 2.31), 19 % cheaper than the next, hpa (calibrated).",
			"The default beats the calibrated setting: hpa, 19 % cheaper.", 0},
		"calibrated too tightly": {[]contender{hpa, with(named("hpa (calibrated)", "hpa:target=95", 1, 1, 1), broken)},
			"hpa is the only one of 2 that meets the SLO, at 2.10 core-hours (1.89 to 2.31).",
			"The calibrated setting violates the SLO that the default meets: hpa (2.1 % of requests over it in its worst run).", 0},
		"far from the oracle": {[]contender{with(hpa, func(c *contender) { c.times = 2 }),
			named("oracle", "oracle:level=1", 1, 1.05, 1.1)},
			"hpa meets the SLO at 2.10 core-hours (1.89 to 2.31); the oracle needs 50 % less.", "", 0},
		"better than the oracle": {[]contender{with(hpa, func(c *contender) { c.times = 0.9 }),
			named("oracle", "oracle", 2.3, 2.4, 2.5)},
			"hpa meets the SLO at 2.10 core-hours (1.89 to 2.31).",
			"hpa costs 90 % of what the oracle does: the oracle's schedule can be improved.", 0},
		"the oracle alone": {[]contender{named("oracle", "oracle", 1, 1, 1)},
			"Only the oracle ran here: there is nothing to compare.", "", -1},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Read(tinyBench(t, row.contenders...))
			if err != nil {
				t.Fatal(err)
			}
			v := r.Summary.Verdicts[0]
			if v.Sentence != row.sentence {
				t.Errorf("got  %s\nwant %s", v.Sentence, row.sentence)
			}
			if v.Winner != row.winner {
				t.Errorf("winner %d, want %d", v.Winner, row.winner)
			}
			if notes := strings.Join(v.Notes, "\n"); row.note == "" && notes != "" || !strings.Contains(notes, row.note) {
				t.Errorf("notes %q, want %q", notes, row.note)
			}
		})
	}
}
