package kube

import "github.com/loadline/loadline"

// Mismatched returns the pods without the desired size: those created from the template where
// deploy/admission is not installed. Axes that are not set, and terminating pods,
// are skipped.
func (s *State) Mismatched(size loadline.Setting) []Pod {
	var found []Pod
	for _, p := range s.Pods {
		spec := loadline.Allocation{Size: p.Desired}
		axes := loadline.Setting{CPURequest: size.CPURequest, CPULimit: size.CPULimit, MemoryRequest: size.MemoryRequest,
			MemoryLimit: size.MemoryLimit}
		if p.Phase != loadline.PodDraining && !spec.Changes(milli(axes)).Empty() {
			found = append(found, p)
		}
	}
	return found
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
