package pool

import (
	"math"
	"testing"
)

// The figures that the clouds publish: GKE's table of allocatable resources, EKS' formula as its
// bootstrap applies it, AKS' table of cores and its example of 8 GB and 30 pods.
func TestReservedFor(t *testing.T) {
	for _, row := range []struct {
		name      string
		of        Type
		cores     float64
		memoryMiB float64
	}{
		{"GKE is the default", Type{Cores: 4, Memory: 16 * gib}, 0.08, 2662.4 + 100},
		{"GKE, 2 cores and 8 GiB", Type{Cores: 2, Memory: 8 * gib}, 0.07, 1843.2 + 100},
		{"GKE, 96 cores and 360 GiB", Type{Cores: 96, Memory: 360 * gib}, 0.31, 14295.04 + 100},
		{"GKE, less than 1 GiB", Type{Cores: 1, Memory: 600 * mib}, 0.06, 255 + 100},
		{"EKS, m5.large", Type{Cores: 2, Memory: 8 * gib, Cloud: EKS, MaxPods: 29}, 0.07, 255 + 11*29 + 100},
		{"EKS, m5.4xlarge", Type{Cores: 16, Memory: 64 * gib, Cloud: EKS, MaxPods: 234}, 0.11, 255 + 11*234 + 100},
		{"EKS without a number of pods", Type{Cores: 1, Memory: 64 * gib, Cloud: EKS}, 0.06, 255 + 11*110 + 100},
		{"AKS, 8 GB and 30 pods", Type{Cores: 2, Memory: 8e9, Cloud: AKS, MaxPods: 30}, 0.1, 650e6/mib + 100},
		{"AKS, at most a quarter", Type{Cores: 4, Memory: 4 * gib, Cloud: AKS, MaxPods: 110}, 0.14, 1024 + 100},
		{"AKS, 64 cores", Type{Cores: 64, Memory: 256 * gib, Cloud: AKS, MaxPods: 110}, 0.74, 2250e6/mib + 100},
		{"given", Type{Cores: 64, Memory: 256 * gib, Reserved: &Amount{1, 5 * mib}}, 1, 5},
	} {
		got := ReservedFor(row.of)
		if math.Abs(got.Cores-row.cores) > 1e-9 || math.Abs(float64(got.Memory)/mib-row.memoryMiB) > 0.01 {
			t.Errorf("%s: %v cores and %v MiB, want %v and %v", row.name, got.Cores, float64(got.Memory)/mib, row.cores, row.memoryMiB)
		}
	}
	for cores, want := range map[float64]float64{1: 0.06, 2: 0.1, 4: 0.14, 8: 0.18, 16: 0.26, 32: 0.42, 64: 0.74} {
		if got := aksCores(cores); math.Abs(got-want) > 1e-9 {
			t.Errorf("AKS, %v cores: %v, want %v", cores, got, want)
		}
	}
}
