package policy

import (
	"time"

	"github.com/loadline/loadline/internal/forecast"
)

// LoadForecast is the planner's forecast of users' requests by itself, for studies of it.
type LoadForecast struct {
	of      *loadForecast
	chooses bool
}

// NewLoadForecast begins without a past. shortfall is the share of the requests that may come in
// excess of the forecasts. One that does not choose forecasts by analogs.
func NewLoadForecast(shortfall float64, chooses bool) *LoadForecast {
	return &LoadForecast{newLoadForecast(shortfall), chooses}
}

// Learn adds the load now, in requests per second. Without checks, the forecasts are not compared with
// what comes.
func (f *LoadForecast) Learn(now time.Time, load float64, check bool) {
	f.of.unchecked = !check
	if f.chooses {
		f.of.learn(now, load)
	} else {
		f.of.analogs.learn(now, load)
	}
}

// Spread is the growth of the load within a lead time by similar moments.
func (f *LoadForecast) Spread(lead time.Duration, to *forecast.Growth) {
	f.of.weigh(leadIndex(lead))
	*to = f.of.weights
}

// Ahead is the load that the planner would have capacity for.
func (f *LoadForecast) Ahead(lead time.Duration) float64 {
	if f.chooses {
		return f.of.ahead(lead)
	}
	return f.of.analogs.ahead(lead)
}

// Chosen names the candidate that forecasts a lead time.
func (f *LoadForecast) Chosen(lead time.Duration) string {
	return candidateName(f.of.records[leadIndex(lead)].chosen)
}
