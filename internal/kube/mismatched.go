package kube

import "github.com/loadline/loadline"

// Mismatched returns the pods without the desired size: those created from the
// template where deploy/admission is not installed. With raiseOnly these are the
// pods that are smaller on some axis. Axes that are not set, and terminating pods,
// are skipped.
func (s *State) Mismatched(size loadline.Setting, raiseOnly bool) []Pod {
	axes := milli(loadline.Setting{CPURequest: size.CPURequest, CPULimit: size.CPULimit, MemoryRequest: size.MemoryRequest,
		MemoryLimit: size.MemoryLimit})
	var found []Pod
	for _, p := range s.Pods {
		changes := loadline.Allocation{Size: p.Desired}.Changes(axes)
		if raiseOnly {
			changes = raises(p.Desired, changes)
		}
		if p.Phase != loadline.PodDraining && !changes.Empty() {
			found = append(found, p)
		}
	}
	return found
}

// raises is the part of a setting that makes a size larger.
func raises(is loadline.Size, to loadline.Setting) loadline.Setting {
	keepAbove(&to.CPURequest, is.CPURequest, false)
	keepAbove(&to.CPULimit, is.CPULimit, true)
	keepAbove(&to.MemoryRequest, is.MemoryRequest, false)
	keepAbove(&to.MemoryLimit, is.MemoryLimit, true)
	return to
}

// keepAbove unsets a value that is not above the present one. A limit of 0 is none,
// and above all others.
func keepAbove[T int64 | float64](to *loadline.Opt[T], is T, limit bool) {
	above := to.Value > is
	if limit && (to.Value == 0 || is == 0) {
		above = to.Value == 0 && is != 0
	}
	if !above {
		*to = loadline.Opt[T]{}
	}
}

// milli rounds CPU as Resize does, so that values compare equal.
func milli(s loadline.Setting) loadline.Setting {
	for _, o := range []*loadline.Opt[float64]{&s.CPURequest, &s.CPULimit} {
		if o.Set {
			o.Value = float64(milliCores(o.Value)) / 1000
		}
	}
	return s
}
