package msars

import (
	"math"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/policy/drpc"
)

// score of the last window: R_qos of the parts (eq. 11) over R_util (eq. 12), minus dropped
// calls. A request is served well if every part of its path is met, so R_qos of a kind is the
// product over the services that it visits; a probabilistic call counts by its probability.
// R_qos is the mean over the kinds weighted by their requests: with the mean over services, one
// that ruins a whole kind would hardly matter. It is unknown if no user metrics were measured,
// and without splitting it is DRPC's.
func (w *Steering) score(s loadline.Situation) (drpc.Score, bool) {
	score, known := w.reward.Of(s.App, s.Now())
	if !known || w.divider.way == None {
		return score, known
	}
	sum, requests := 0.0, 0.0
	for k := range s.App.Kinds {
		rate := s.Now().Kinds[k].Rate.Or(0)
		if rate <= 0 || s.App.Kinds[k].SLO.Latency <= 0 {
			continue
		}
		requests += rate
		sum += rate * w.encoder.kept(k)
	}
	if requests == 0 {
		return score, false
	}
	dropped := score.QoS/score.Util - score.Reward
	score.QoS = sum / requests
	score.Reward = score.QoS/score.Util - dropped
	return score, true
}

// kept is R_qos of one kind of request.
func (e *encoder) kept(kind int) float64 {
	product := 1.0
	for i, over := range e.over {
		if visits := e.drpc.Topology.Services[i].Visits[kind]; visits > 0 && !math.IsNaN(over) {
			product *= math.Pow(qos(over), min(visits, 1))
		}
	}
	return product
}

// qos is R_qos of a response time relative to its part (eq. 11).
func qos(over float64) float64 {
	if over <= 1 {
		return 1
	}
	return math.Exp(-(over - 1) * (over - 1))
}
