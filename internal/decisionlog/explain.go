package decisionlog

import (
	"fmt"
	"strings"
	"time"

	"github.com/loadline/loadline"
)

// FormatTime is the common format of instants.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Explain describes one service's part of a decision.
func Explain(e Entry, service string) string {
	r := e.Record
	s := r.Service(service)
	if s == nil {
		return explainPass(r)
	}
	s.estimate(e)
	sentences := []string{outcomeOf(r, s)}
	sentences = append(sentences, seen(e, s)...)
	sentences = append(sentences, foreseen(s)...)
	sentences = append(sentences, announced(r)...)
	sentences = append(sentences, wanted(r, s)...)
	sentences = append(sentences, corrected(s)...)
	if r.Rung != "" {
		sentences = append(sentences, fmt.Sprintf("The guard's ladder stood at: %s.", r.Rung))
	}
	sentences = append(sentences, expected(r, s)...)
	if r.Remark != "" {
		sentences = append(sentences, fmt.Sprintf("At that time, %s.", trimReason(r.Remark)))
	}
	return strings.Join(sentences, " ")
}

// explainPass describes a decision without any service.
func explainPass(r *Record) string {
	if r.Error != "" {
		return fmt.Sprintf("At %s nothing was decided, and everything was left as it was: %s.", FormatTime(r.At), trimReason(r.Error))
	}
	return fmt.Sprintf("At %s the policy %s proposed nothing.", FormatTime(r.At), r.Policy)
}

// outcomeOf happened to the service.
func outcomeOf(r *Record, s *Service) string {
	before := s.Before()
	if s.Plan == nil {
		return fmt.Sprintf("At %s %s was left at %s.", FormatTime(r.At), s.Name, loadline.DescribeReplicas(before.Replicas))
	}
	after := before.With(s.Plan.Setting())
	switch {
	case r.Applied.IsZero():
		return fmt.Sprintf("At %s %s was to %s, but it was not applied%s.", FormatTime(r.At), s.Name, changePhrase(before, after, planned),
			because(r.Error))
	case r.Mode != "" && r.Mode != "Act":
		return fmt.Sprintf("At %s %s would have %s; in mode %s nothing is changed.", FormatTime(r.Applied), s.Name,
			changePhrase(before, after, conditional), r.Mode)
	}
	return fmt.Sprintf("At %s %s %s.", FormatTime(r.Applied), s.Name, changePhrase(before, after, happened))
}

// wanted is the policy's proposal.
func wanted(r *Record, s *Service) []string {
	switch {
	case s.Proposal == nil && r.Error != "" && (s.Plan == nil || !r.Applied.IsZero()):
		return []string{fmt.Sprintf("The policy %s could not decide: %s.", r.Policy, trimReason(r.Error))}
	case s.Proposal == nil:
		return []string{fmt.Sprintf("The policy %s proposed nothing for it.", r.Policy)}
	}
	want := s.Proposal.Setting.Setting()
	asked := "no change"
	if !want.Empty() {
		asked = want.Describe()
		if s.Before().Changes(want).Empty() {
			asked += ", as it is"
		}
	}
	return []string{fmt.Sprintf("The policy %s asked for %s%s.", r.Policy, asked, because(s.Proposal.Reason))}
}

// announced is the event that was running, or else the next one. Events are in the order of their
// start.
func announced(r *Record) []string {
	if len(r.Events) == 0 {
		return nil
	}
	e := r.Events[0]
	state := "begins at " + FormatTime(e.Start)
	if !r.At.Before(e.Start) {
		state = "was running, until " + FormatTime(e.End)
	}
	return []string{fmt.Sprintf("The announced event %s, with %s times the usual load, %s.", e.Name,
		loadline.DescribeNumber(float64(e.Factor)), state)}
}

// corrected is the correction of each guard.
func corrected(s *Service) []string {
	return sentencesOf(guarded(s))
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + trimReason(reason)
}

func trimReason(reason string) string { return strings.TrimRight(strings.TrimSpace(reason), ".") }

// DescribeChange from one allocation to another in a few words.
func DescribeChange(before, after loadline.Allocation) string {
	return strings.Join(axes(before, after), ", ")
}

// services that a call visits, itself included.
func visits(c *loadline.Call, service int) bool {
	if c.Service == service {
		return true
	}
	for i := range c.Stages {
		for j := range c.Stages[i] {
			if visits(&c.Stages[i][j], service) {
				return true
			}
		}
	}
	return false
}

// ExplainSince describes a later decision that did not change the service, or failed to.
func ExplainSince(e *Entry, service string) string {
	r, s := e.Record, e.Record.Service(service)
	switch {
	case s.Plan != nil:
		return outcomeOf(r, s)
	case r.Error != "":
		return fmt.Sprintf("It was left so, last at %s: the policy %s could not decide: %s.", FormatTime(r.At), r.Policy,
			trimReason(r.Error))
	case s.Proposal == nil:
		return fmt.Sprintf("It was left so, last at %s, when the policy %s proposed nothing for it.", FormatTime(r.At), r.Policy)
	}
	return fmt.Sprintf("It was left so, last at %s%s.", FormatTime(r.At), because(s.Proposal.Reason))
}
