package kube

import "github.com/loadline/loadline"

// Strays are pods without the desired size: those created from the template where
// deploy/admission is not installed. Axes that are not set, and terminating pods,
// are skipped.
func (s *State) Strays(size loadline.Setting) []Pod {
	var strays []Pod
	for _, p := range s.Pods {
		told := loadline.Allocation{Size: p.Told}
		axes := loadline.Setting{CPURequest: size.CPURequest, CPULimit: size.CPULimit, MemoryRequest: size.MemoryRequest,
			MemoryLimit: size.MemoryLimit}
		if p.Phase != loadline.PodDraining && !told.Changes(milli(axes)).Empty() {
			strays = append(strays, p)
		}
	}
	return strays
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
