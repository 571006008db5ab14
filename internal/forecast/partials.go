package forecast

import "math"

// fromPartials turns partial autocorrelations into the coefficients of the
// autoregression that has them (Durbin, 1960; Levinson, 1947).
func fromPartials(coefficients, partials []float64) {
	var before [8]float64 // no order here is higher
	for k, r := range partials {
		copy(before[:], coefficients[:k])
		for i := range k {
			coefficients[i] = before[i] - r*before[k-1-i]
		}
		coefficients[k] = r
	}
}

// partialAutocorrelations of the differenced series at lags 1..p, by the same recursion: the
// start of the search. Pairs with a missing sample do not count.
func partialAutocorrelations(values []float64, o order) []float64 {
	w := values
	if o.d == 1 {
		w = make([]float64, max(0, len(values)-1))
		for i := range w {
			w[i] = values[i+1] - values[i]
		}
	}
	rho := autocorrelations(w, o.p)
	partials, ar := make([]float64, o.p), make([]float64, o.p)
	for k := range o.p {
		above, below := rho[k+1], 1.0
		for i := range k {
			above -= ar[i] * rho[k-i]
			below -= ar[i] * rho[i+1]
		}
		if below > 1e-12 {
			partials[k] = min(max(above/below, -0.999), 0.999)
		}
		fromPartials(ar[:k+1], partials[:k+1])
	}
	return partials
}

// autocorrelations at lags 0..most.
func autocorrelations(w []float64, most int) []float64 {
	centre := mean(w)
	rho := make([]float64, most+1)
	variance := 0.0
	for lag := range rho {
		sum, n := 0.0, 0
		for t := lag; t < len(w); t++ {
			if v := (w[t] - centre) * (w[t-lag] - centre); !math.IsNaN(v) {
				sum += v
				n++
			}
		}
		if n > 0 {
			sum /= float64(n)
		}
		if lag == 0 {
			variance = sum
		}
		if variance > 0 {
			rho[lag] = sum / variance
		}
	}
	return rho
}

// mean of the present values; 0 if there are none.
func mean(values []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}
