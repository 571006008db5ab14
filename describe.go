package loadline

import (
	"fmt"
	"math"
	"strings"
)

// Describe the setting in words, axis by axis: "6 replicas and a CPU request of 0.5 cores".
func (s Setting) Describe() string {
	var parts []string
	if s.Replicas.Set {
		parts = append(parts, DescribeReplicas(s.Replicas.Value))
	}
	if s.CPURequest.Set {
		parts = append(parts, "a CPU request of "+DescribeCores(s.CPURequest.Value))
	}
	if s.CPULimit.Set {
		parts = append(parts, describeLimit("CPU", s.CPULimit.Value == 0, DescribeCores(s.CPULimit.Value)))
	}
	if s.MemoryRequest.Set {
		parts = append(parts, "a memory request of "+DescribeMemory(s.MemoryRequest.Value))
	}
	if s.MemoryLimit.Set {
		parts = append(parts, describeLimit("memory", s.MemoryLimit.Value == 0, DescribeMemory(s.MemoryLimit.Value)))
	}
	if s.Brownout.Set && s.Brownout.Value {
		parts = append(parts, "optional calls to be dropped")
	}
	if s.Brownout.Set && !s.Brownout.Value {
		parts = append(parts, "optional calls to be served")
	}
	if len(parts) == 0 {
		return "no change"
	}
	return JoinWords(parts)
}

func describeLimit(what string, none bool, amount string) string {
	if none {
		return "no " + what + " limit"
	}
	return fmt.Sprintf("a %s limit of %s", what, amount)
}

// DescribeReplicas in words.
func DescribeReplicas(n int) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

// DescribeCores in words.
func DescribeCores(v float64) string {
	if v == 1 {
		return "1 core"
	}
	return DescribeNumber(v) + " cores"
}

// DescribeMemory in MiB.
func DescribeMemory(bytes int64) string { return DescribeNumber(float64(bytes)/(1<<20)) + " MiB" }

// DescribeNumber writes three significant digits without an exponent for thousands.
func DescribeNumber(v float64) string {
	if math.Abs(v) >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// JoinWords joins words with commas and an "and" before the last.
func JoinWords(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}
