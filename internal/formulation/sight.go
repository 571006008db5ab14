package formulation

import "github.com/loadline/loadline"

// Sight is a choice of features, for policies whose problem is no formulation of
// this room: what they do and what it is worth is theirs, what can be seen is not.
type Sight struct{ features []Feature }

// NewSight chooses features by their names and refuses unknown ones.
func NewSight(names ...string) (*Sight, error) {
	features, err := featuresNamed(names)
	if err != nil {
		return nil, err
	}
	return &Sight{features}, nil
}

// See appends the features of a service. If one is absent, its name comes back
// and nothing can be decided.
func (s *Sight) See(g *Ground, situation loadline.Situation, service int, into []float32) (values []float32, absent string) {
	v := look(g, situation, service)
	return see(&v, s.features, into)
}
