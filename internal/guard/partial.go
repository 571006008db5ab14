package guard

import "github.com/loadline/loadline"

// Partial is a model that was trained for some services only. While the model is
// followed, the rule decides for the others.
type Partial interface {
	Decides(service int) bool
}

// complete adds the proposals of the rule for services that the model does not decide
// for. A rule that is not due, or has no data, adds nothing.
func (l *Ladder) complete(model, rule loadline.Proposal) loadline.Proposal {
	part, ok := l.model.policy.(Partial)
	if !ok {
		return model
	}
	all := model
	for _, sp := range marked(rule).Services {
		if !part.Decides(sp.Service) {
			all.Services = append(all.Services[:len(all.Services):len(all.Services)], sp)
		}
	}
	return all
}
