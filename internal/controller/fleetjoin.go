package controller

import "github.com/loadline/loadline/api/v1alpha1"

// joinFleet makes the students of a model members of the application's fleet. Where that
// fails they decide without one, and it is retried when the model is looked up again.
func (a *application) joinFleet(found decider) decider {
	if a.fleet == nil || found.students == nil {
		a.leave()
		return found
	}
	if why := a.fleet.Refusal; why != "" {
		a.leave()
		return decider{id: found.id, name: found.name, reason: v1alpha1.ReasonNoFleet, why: why}
	}
	joined, err := a.fleet.join(a.name, found.students, a.App, a.world)
	a.leave()
	if err != nil {
		a.apart = err
		return found
	}
	a.member = joined
	found.policy = joined.agent
	return found
}

// leave the fleet, if the students are in one.
func (a *application) leave() {
	a.apart = nil
	if a.member != nil {
		a.member.leave()
		a.member = nil
	}
}
