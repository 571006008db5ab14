package decisionlog

import (
	"fmt"

	"github.com/loadline/loadline"
)

// tense of a phrase.
type tense int

const (
	happened    tense = iota // it went
	conditional              // it would have gone
	planned                  // it was to go
)

var (
	goes    = [...]string{"went", "gone", "go"}
	changed = [...]string{"changed", "changed", "change"}
	browned = [...]string{"stopped", "stopped", "stop"}
	back    = [...]string{"resumed", "resumed", "resume"}
)

// changePhrase from one allocation to another, as a phrase with its verb.
func changePhrase(before, after loadline.Allocation, t tense) string {
	var parts []string
	if before.Replicas != after.Replicas {
		parts = append(parts, fmt.Sprintf("%s from %d to %s", goes[t], before.Replicas, loadline.DescribeReplicas(after.Replicas)))
	}
	var sizes []string
	for _, a := range sizesOf(before, after) {
		sizes = append(sizes, fmt.Sprintf("its %s from %s to %s", a.what, a.before, a.after))
	}
	if len(sizes) > 0 {
		parts = append(parts, changed[t]+" "+loadline.JoinWords(sizes))
	}
	if before.Brownout != after.Brownout {
		verb := back
		if after.Brownout {
			verb = browned
		}
		parts = append(parts, verb[t]+" serving optional calls")
	}
	return loadline.JoinWords(parts)
}

// axes that differ, each in a few words.
func axes(before, after loadline.Allocation) []string {
	var parts []string
	if before.Replicas != after.Replicas {
		parts = append(parts, fmt.Sprintf("%d to %s", before.Replicas, loadline.DescribeReplicas(after.Replicas)))
	}
	for _, a := range sizesOf(before, after) {
		parts = append(parts, fmt.Sprintf("%s %s to %s", a.what, a.before, a.after))
	}
	if before.Brownout != after.Brownout {
		if after.Brownout {
			parts = append(parts, "brownout")
		} else {
			parts = append(parts, "end of brownout")
		}
	}
	return parts
}

type sizeChange struct{ what, before, after string }

func sizesOf(before, after loadline.Allocation) []sizeChange {
	var all []sizeChange
	add := func(what, a, b string) {
		if a != b {
			all = append(all, sizeChange{what, a, b})
		}
	}
	x, y := before.Size, after.Size
	add("CPU request", loadline.DescribeCores(x.CPURequest), loadline.DescribeCores(y.CPURequest))
	add("CPU limit", orNone(x.CPULimit, loadline.DescribeCores), orNone(y.CPULimit, loadline.DescribeCores))
	add("memory request", loadline.DescribeMemory(x.MemoryRequest), loadline.DescribeMemory(y.MemoryRequest))
	add("memory limit", orNone(x.MemoryLimit, loadline.DescribeMemory), orNone(y.MemoryLimit, loadline.DescribeMemory))
	return all
}

// correction of a setting by a guard.
func correction(from, to loadline.Setting) string {
	if to.Empty() {
		return "refused that"
	}
	if from.Empty() {
		return "asked for " + to.Describe()
	}
	// Only differences are mentioned.
	a, b := from, to
	same(&a.Replicas, &b.Replicas)
	same(&a.CPURequest, &b.CPURequest)
	same(&a.CPULimit, &b.CPULimit)
	same(&a.MemoryRequest, &b.MemoryRequest)
	same(&a.MemoryLimit, &b.MemoryLimit)
	same(&a.Brownout, &b.Brownout)
	switch {
	case b.Empty():
		return "refused " + a.Describe()
	case a.Replicas.Set && b.Replicas.Set && a.Replicas.Value > b.Replicas.Value && onlyReplicas(b):
		return fmt.Sprintf("cut that to %s", loadline.DescribeReplicas(b.Replicas.Value))
	case a.Replicas.Set && b.Replicas.Set && onlyReplicas(b):
		return fmt.Sprintf("raised that to %s", loadline.DescribeReplicas(b.Replicas.Value))
	}
	return "made that " + b.Describe()
}

func onlyReplicas(s loadline.Setting) bool { return s == loadline.Setting{Replicas: s.Replicas} }

func same[T comparable](a, b *loadline.Opt[T]) {
	if *a == *b {
		*a, *b = loadline.Opt[T]{}, loadline.Opt[T]{}
	}
}
