package papers

import (
	"fmt"

	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/result"
)

// elasticFindings compares elastic-dqn with the baselines, and with the rivals of its table
// that are implemented.
func elasticFindings(r *Report, app string, rows []Row) {
	of := func(name string) []bench.Interval {
		for _, row := range rows {
			if row.Name == name {
				return row.Ours
			}
		}
		return nil
	}
	ours, hpa, calibrated, oracle := of(elasticOurs), of(elasticHPA), of(elasticCalibrated), of(elasticOracle)
	fewer, cheaper := below(ours[2], hpa[2]), below(ours[1], hpa[1])
	v := Partly
	switch {
	case fewer == Holds && cheaper == Holds:
		v = Holds
	case fewer == Not && cheaper == Not:
		v = Not
	case fewer == Undecided && cheaper == Undecided:
		v = Undecided
	}
	r.find(fmt.Sprintf("On %s, learning beats the threshold rule that people run (HPA at its default) on violations and cost.", app), v,
		fmt.Sprintf("Violations %s %% against %s %%, cost %s against 1.", spread(ours[2], 2), spread(hpa[2], 2), spread(ours[1], 2)))

	v = Undecided
	switch meets := float64(ours[2].Mean) <= 100*result.CountsIf; {
	case !meets && float64(calibrated[2].Mean) <= 100*result.CountsIf:
		v = Not
	case meets && below(ours[1], calibrated[1]) == Holds:
		v = Holds
	case meets && below(ours[1], calibrated[1]) == Not:
		v = Not
	}
	r.find(fmt.Sprintf("On %s, it also beats a threshold that was calibrated on the same validation data, within the SLO (at most 1 "+
		"%% of requests over it).", app), v,
		fmt.Sprintf("Cost %s with %s %% over, against %s with %s %% over; the oracle needs %s.", spread(ours[1], 2),
			spread(ours[2], 2), spread(calibrated[1], 2), spread(calibrated[2], 2), spread(oracle[1], 2)))

	for _, rival := range elasticRivals {
		theirs := of(rival.learner)
		r.find(fmt.Sprintf("On %s, Elastic-DQN has a lower response time, cost and violation rate than %s.", app, rival.title),
			together(below(ours[0], theirs[0]), below(ours[1], theirs[1]), below(ours[2], theirs[2])),
			fmt.Sprintf("Mean response %s ms against %s ms, cost %s against %s, violations %s %% against %s %%.", spread(ours[0], 1),
				spread(theirs[0], 1),
				spread(ours[1], 2), spread(theirs[1], 2), spread(ours[2], 2), spread(theirs[2], 2)))
	}
}
