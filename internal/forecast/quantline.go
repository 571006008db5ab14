package forecast

import "math"

// Line forecasts a quantile as a linear function of features (Koenker and Bassett, 1978), fitted by
// the majorise-minimise algorithm of Hunter and Lange (2000): each pass solves least squares with
// weights 1/(eps + |residual|). A later fit of the same features begins where the last one ended.
type Line struct {
	mean, scale []float64 // of the features
	beta        []float64 // by feature, the constant last

	normal, right, row []float64
	residual           []float64
}

const (
	// lineSweeps of a first fit, and of a later one: far from the median the algorithm is slow.
	firstSweeps, lineSweeps = 200, 25
	lineRidge               = 1e-3
	lineEps                 = 1e-3
)

// Fit learns the quantile of the outcomes y from rows of features, one after the other.
func (m *Line) Fit(rows, y []float32, level float64) {
	n := len(y)
	if n == 0 {
		m.beta = m.beta[:0]
		return
	}
	width := len(rows) / n
	m.standardise(rows, n, width)
	size := width + 1
	m.normal, m.right, m.row = resized(m.normal, size*size), resized(m.right, size), resized(m.row, size)
	m.residual = resized(m.residual, n)
	sweeps := lineSweeps
	if len(m.beta) != size {
		m.beta, sweeps = make([]float64, size), firstSweeps
	}
	for i := range y {
		m.residual[i] = float64(y[i]) - m.At(rows[i*width:(i+1)*width])
	}
	for range sweeps {
		clear(m.normal)
		clear(m.right)
		for i := range y {
			m.standard(rows[i*width : (i+1)*width])
			w := 1 / (lineEps + math.Abs(m.residual[i]))
			target := w*float64(y[i]) + 2*level - 1
			for a := range size {
				for c := range a + 1 {
					m.normal[a*size+c] += w * m.row[a] * m.row[c]
				}
				m.right[a] += target * m.row[a]
			}
		}
		for a := range width {
			m.normal[a*size+a] += lineRidge * float64(n)
		}
		solve(m.normal, m.right, size)
		copy(m.beta, m.right)
		for i := range y {
			m.residual[i] = float64(y[i]) - m.At(rows[i*width:(i+1)*width])
		}
	}
}

// At is the quantile at a row of features.
func (m *Line) At(row []float32) float64 {
	if len(m.beta) == 0 {
		return 0
	}
	sum := m.beta[len(row)]
	for f, v := range row {
		sum += m.beta[f] * (float64(v) - m.mean[f]) / m.scale[f]
	}
	return sum
}

func (m *Line) standard(row []float32) {
	for f, v := range row {
		m.row[f] = (float64(v) - m.mean[f]) / m.scale[f]
	}
	m.row[len(row)] = 1
}

func (m *Line) standardise(rows []float32, n, width int) {
	m.mean, m.scale = resized(m.mean, width), resized(m.scale, width)
	for f := range width {
		sum, squares := 0.0, 0.0
		for i := range n {
			sum += float64(rows[i*width+f])
		}
		m.mean[f] = sum / float64(n)
		for i := range n {
			squares += (float64(rows[i*width+f]) - m.mean[f]) * (float64(rows[i*width+f]) - m.mean[f])
		}
		m.scale[f] = max(math.Sqrt(squares/float64(n)), 1e-6)
	}
}

// solve a symmetric positive definite system by Cholesky's decomposition, in place: only the lower
// half of the matrix is read, and the right side becomes the solution.
func solve(matrix, right []float64, size int) {
	for a := range size {
		for c := range a + 1 {
			sum := matrix[a*size+c]
			for k := range c {
				sum -= matrix[a*size+k] * matrix[c*size+k]
			}
			if a == c {
				matrix[a*size+a] = math.Sqrt(max(sum, 1e-12))
			} else {
				matrix[a*size+c] = sum / matrix[c*size+c]
			}
		}
	}
	for a := range size {
		for k := range a {
			right[a] -= matrix[a*size+k] * right[k]
		}
		right[a] /= matrix[a*size+a]
	}
	for a := size - 1; a >= 0; a-- {
		for k := a + 1; k < size; k++ {
			right[a] -= matrix[k*size+a] * right[k]
		}
		right[a] /= matrix[a*size+a]
	}
}
