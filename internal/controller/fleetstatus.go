package controller

import (
	"fmt"
	"strings"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/fleet/teacher"
)

// fleetCounts is what metrics have reported of a member, whose own counts only rise.
type fleetCounts struct {
	traffic fleet.Traffic
	lost    int
}

// fleetVerdict is the condition Fleet; nil if the policy has no students.
func (a *application) fleetVerdict() *verdict {
	if a.model.students == nil && a.model.reason != v1alpha1.ReasonNoFleet || a.fleet == nil {
		return nil
	}
	var v verdict
	switch {
	case a.model.reason == v1alpha1.ReasonNoFleet:
		v = no(v1alpha1.ReasonNoFleet, a.model.why)
	case a.member == nil:
		v = no(v1alpha1.ReasonOutOfReach, "students decide without a fleet: "+text(a.apart))
	default:
		v = a.member.verdict()
	}
	return &v
}

func (m *member) verdict() verdict {
	if err := m.agent.Err(); err != nil {
		waiting, lost := m.agent.Publisher.Waiting()
		return no(v1alpha1.ReasonOutOfReach, fmt.Sprintf("fleet %s: students keep deciding, %d decisions wait and %d are lost: %v",
			m.name, waiting, lost, err))
	}
	var refused []string
	for _, s := range m.agent.Status() {
		if s.Refused != "" {
			refused = append(refused, s.Service+": "+s.Refused)
		}
	}
	if len(refused) > 0 {
		return no(v1alpha1.ReasonWeightsRefused, "students keep the weights in use: "+strings.Join(refused, "; "))
	}
	if m.teacher == nil {
		return yes(v1alpha1.ReasonInReach, fmt.Sprintf("fleet %s; the teacher is elsewhere", m.name))
	}
	s := m.teacher.Status()
	if s.Problem != "" {
		return no(v1alpha1.ReasonTeacherTrouble, fmt.Sprintf("fleet %s: students keep deciding, the teacher fails: %s%s",
			m.name, s.Problem, restarts(s.Restarts)))
	}
	return yes(v1alpha1.ReasonInReach, fmt.Sprintf("fleet %s; teacher: %s", m.name, m.describe(s)))
}

// describe a teacher without a problem.
func (m *member) describe(s teacher.Status) string {
	switch {
	case s.NotLearning != "":
		return s.NotLearning
	case m.noObserver != nil:
		return fmt.Sprintf("it does not learn, since this LoadLine does not observe the whole application: %v", m.noObserver)
	case !s.Last.At.IsZero():
		return s.Last.String()
	}
	return s.Doing
}

func restarts(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d failures since the process started)", n)
}
