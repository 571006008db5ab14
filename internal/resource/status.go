package resource

import (
	"math"
	"strconv"
	"unicode/utf8"

	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/guard"
)

var rungs = map[guard.Rung]v1alpha1.Rung{
	guard.Primary: v1alpha1.RungPrimary, guard.Rule: v1alpha1.RungRule, guard.Hold: v1alpha1.RungHold, guard.Floor: v1alpha1.RungFloor,
}

// Ladder is the guard's state as stored in the status.
func Ladder(s guard.State) *v1alpha1.LadderStatus {
	return &v1alpha1.LadderStatus{
		Rung: rungs[s.Rung], Since: metav1.NewTime(s.Since), Why: Text(s.Why),
		Distrust: s.Distrust, Recovery: v1alpha1.Duration{Duration: s.Recovery},
	}
}

// State is the state that a restarted process resumes from; false if the status
// has none.
func State(l *v1alpha1.LadderStatus) (guard.State, bool) {
	if l == nil {
		return guard.State{}, false
	}
	for ours, theirs := range rungs {
		if theirs == l.Rung.Current() {
			return guard.State{Rung: ours, Since: l.Since.Time, Why: l.Why, Distrust: l.Distrust, Recovery: l.Recovery.Span()}, true
		}
	}
	return guard.State{}, false
}

// Text truncates a sentence to fit into the status.
func Text(s string) string {
	if utf8.RuneCountInString(s) <= v1alpha1.MaxText {
		return s
	}
	return string([]rune(s)[:v1alpha1.MaxText-1]) + "…"
}

// Measured is a sample as text; "" if it is absent or NaN.
func Measured(s loadline.Sample) v1alpha1.Measured {
	if !s.Present() || math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
		return ""
	}
	return v1alpha1.Measured(strconv.FormatFloat(s.Value, 'g', 4, 64))
}

// Wanted converts a setting; nil if it is empty.
func Wanted(s loadline.Setting) *v1alpha1.Amounts {
	if s.Empty() {
		return nil
	}
	var a v1alpha1.Amounts
	if s.Replicas.Set {
		n := int32(min(max(s.Replicas.Value, 0), math.MaxInt32))
		a.Replicas = &n
	}
	a.CPURequest = cpu(s.CPURequest)
	a.CPULimit = cpu(s.CPULimit)
	a.MemoryRequest = memory(s.MemoryRequest)
	a.MemoryLimit = memory(s.MemoryLimit)
	if s.Brownout.Set {
		a.Brownout = &s.Brownout.Value
	}
	return &a
}

// Desired converts an allocation. A size of 0 is unknown, or no limit, and left out.
func Desired(l loadline.Allocation) *v1alpha1.Amounts {
	return Wanted(loadline.Setting{
		Replicas:      loadline.Some(l.Replicas),
		CPURequest:    ifAny(l.Size.CPURequest),
		CPULimit:      ifAny(l.Size.CPULimit),
		MemoryRequest: ifAny(l.Size.MemoryRequest),
		MemoryLimit:   ifAny(l.Size.MemoryLimit),
		Brownout:      loadline.Opt[bool]{Value: l.Brownout, Set: l.Brownout},
	})
}

func ifAny[T int64 | float64](v T) loadline.Opt[T] {
	return loadline.Opt[T]{Value: v, Set: v > 0}
}

// cpu is rounded up to whole milli-cores, as Kubernetes counts.
func cpu(o loadline.Opt[float64]) *quantity.Quantity {
	if !o.Set || !(o.Value >= 0 && o.Value < 1e9) {
		return nil
	}
	return quantity.NewMilliQuantity(int64(math.Ceil(o.Value*1000-1e-6)), quantity.DecimalSI)
}

func memory(o loadline.Opt[int64]) *quantity.Quantity {
	if !o.Set {
		return nil
	}
	return quantity.NewQuantity(o.Value, quantity.BinarySI)
}
