package gemm

import "time"

// MeasurePeak measures how many floating-point operations per second one core does in fused
// multiply-adds on registers, the upper bound of any product. With portable kernels it measures
// multiplications and additions instead. The clock is passed in; the best of several rounds
// counts, because other load on the machine only slows a round down.
func MeasurePeak(now func() time.Time) (flopsPerSecond float64) {
	const rounds, attempts = 20_000, 40
	const flops = rounds * 48 * 8 * 2
	for range attempts {
		begin := now()
		active.fmaLoop(rounds)
		if seconds := now().Sub(begin).Seconds(); seconds > 0 {
			flopsPerSecond = max(flopsPerSecond, flops/seconds)
		}
	}
	return flopsPerSecond
}
