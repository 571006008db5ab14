package formulation

import "github.com/loadline/loadline"

// FeatureSet is a selection of features, for methods that have actions and rewards of
// their own.
type FeatureSet struct{ features []Feature }

// NewFeatureSet selects features by name; an unknown name is an error.
func NewFeatureSet(names ...string) (*FeatureSet, error) {
	features, err := featuresNamed(names)
	if err != nil {
		return nil, err
	}
	return &FeatureSet{features}, nil
}

// Append appends the features of a service. If one is absent, it returns its name, and no
// decision is possible.
func (s *FeatureSet) Append(g *Topology, situation loadline.Situation, service int, into []float32) (values []float32, absent string) {
	v := newView(g, situation, service)
	return appendFeatures(&v, s.features, into)
}
