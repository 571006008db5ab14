package forecast

import "math"

// scaling normalises samples for a network. It is fitted on the past only.
type scaling struct {
	Mean   []float64 `json:"mean"`   // by series
	Spread []float64 `json:"spread"` // standard deviation, by series
	Change []float64 `json:"change"` // of the target over each horizon, standard deviation
}

func fitScaling(rows [][]float64, series int, horizons []int) scaling {
	var s scaling
	column := make([]float64, len(rows))
	for j := range series {
		for i, row := range rows {
			column[i] = row[j]
		}
		centre := mean(column)
		s.Mean = append(s.Mean, centre)
		s.Spread = append(s.Spread, rootMeanSquare(column, func(i int) float64 { return column[i] - centre }))
	}
	for _, steps := range horizons {
		s.Change = append(s.Change, rootMeanSquare(rows, func(i int) float64 {
			if i < steps {
				return math.NaN()
			}
			return rows[i][0] - rows[i-steps][0]
		}))
	}
	return s
}

// rootMeanSquare of the present values; 1 if all are 0, so that one can divide.
func rootMeanSquare[T any](items []T, of func(i int) float64) float64 {
	sum, n := 0.0, 0
	for i := range items {
		if v := of(i); !math.IsNaN(v) {
			sum += v * v
			n++
		}
	}
	if sum == 0 {
		return 1
	}
	return math.Sqrt(sum / float64(n))
}

// sequenceWidth is the features per step of the window: the difference of the target to its
// latest sample, whether it was measured, and every series.
func (m *GRU) sequenceWidth() int { return 2 + m.series }

// staticWidth is the other features: the change of the load a season ago over each horizon,
// whether it is known, and the time within the season.
func (m *GRU) staticWidth() int {
	if m.task.Season == 0 {
		return 1
	}
	return len(m.task.Horizons) + 3
}

// features of a bin, from that bin and earlier ones only. Steps of the sequence
// are stride rows apart, as batches are laid out.
func (m *GRU) features(t *tape, now int, sequence, static []float32, stride int) {
	width, last := m.sequenceWidth(), t.target(now)
	longest := m.scale.Change[len(m.scale.Change)-1]
	for i := range m.config.Window {
		bin := now - m.config.Window + 1 + i
		row := sequence[i*stride*width:][:width]
		row[0] = clipped((t.target(bin) - last) / longest)
		row[1] = 0
		if t.present[bin] {
			row[1] = 1
		}
		for j, v := range t.rows[bin] {
			row[2+j] = clipped((v - m.scale.Mean[j]) / m.scale.Spread[j])
		}
	}
	m.seasonFeatures(t, now, static)
}

func (m *GRU) seasonFeatures(t *tape, now int, static []float32) {
	clear(static)
	season := m.task.Season
	if season == 0 {
		return
	}
	angle := 2 * math.Pi * float64(phase(t.first+int64(now), season)) / float64(season)
	n := len(m.task.Horizons)
	static[n], static[n+1] = float32(math.Sin(angle)), float32(math.Cos(angle))
	then := now - season
	if then < 0 || !t.present[then] {
		return
	}
	static[n+2] = 1
	for h, steps := range m.task.Horizons {
		// A horizon longer than a season would use the future.
		if at := then + steps; at <= now && t.present[at] {
			static[h] = clipped((t.target(at) - t.target(then)) / m.scale.Change[h])
		}
	}
}

// clipped limits values outside the range of the training data.
func clipped(v float64) float32 { return float32(min(max(v, -8), 8)) }
