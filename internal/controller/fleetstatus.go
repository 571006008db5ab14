package controller

import (
	"fmt"
	"strings"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/fleet"
)

// fleetNews is what metrics have been told of a member, since they count what comes
// to it.
type fleetNews struct {
	carried fleet.Traffic
	lost    int
}

// fleetVerdict is the condition Fleet; nil where there are no students.
func (a *application) fleetVerdict() *verdict {
	if a.model.students == nil && a.model.reason != v1alpha1.ReasonNoFleet || a.fleet == nil {
		return nil
	}
	v := yes(v1alpha1.ReasonInReach, "")
	switch {
	case a.model.reason == v1alpha1.ReasonNoFleet:
		v = no(v1alpha1.ReasonNoFleet, a.model.why)
	case a.member == nil:
		v = no(v1alpha1.ReasonOutOfReach, "students decide alone: "+text(a.apart))
	default:
		v = a.member.verdict()
	}
	return &v
}

// about a teacher in a few words.
func (l lessonReport) about(unwitnessed error) string {
	switch {
	case l.idle != "":
		return "its teacher: " + l.idle
	case unwitnessed != nil:
		return fmt.Sprintf("its teacher does not learn, since nobody here sees the whole: %v", unwitnessed)
	case l.last != "":
		return "its teacher: " + l.last
	}
	return "its teacher is " + l.doing
}

func (m *member) verdict() verdict {
	waiting, lost := m.agent.Publisher.Waiting()
	if err := m.link.Err(); err != nil {
		return no(v1alpha1.ReasonOutOfReach, fmt.Sprintf("fleet %s: students act on, %d decisions wait and %d were let go: %v", m.name, waiting, lost, err))
	}
	var refused []string
	for _, s := range m.agent.Status() {
		if s.Refused != "" {
			refused = append(refused, s.Service+": "+s.Refused)
		}
	}
	if len(refused) > 0 {
		return no(v1alpha1.ReasonWeightsRefused, "students act on with what they have: "+strings.Join(refused, "; "))
	}
	if m.lesson == nil {
		return yes(v1alpha1.ReasonInReach, fmt.Sprintf("fleet %s; its teacher is elsewhere", m.name))
	}
	l := m.lesson.state()
	if l.trouble != "" {
		return no(v1alpha1.ReasonTeacherTrouble, fmt.Sprintf("fleet %s: students act on: %s", m.name, l.trouble))
	}
	return yes(v1alpha1.ReasonInReach, fmt.Sprintf("fleet %s; %s", m.name, l.about(m.unwitnessed)))
}
