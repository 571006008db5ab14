// Package explain describes decisions in plain sentences.
//
// Reading order: tell.go (the paragraph), change.go (changes), seen.go (observations and
// predictions), figures.go (numbers).
package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/decisionlog"
)

// Instant is the common format of instants.
func Instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Paragraph describes one service's part of a decision.
func Paragraph(e decisionlog.Entry, service string) string {
	r := e.Record
	s := r.Service(service)
	if s == nil {
		return Pass(r)
	}
	sentences := []string{what(r, s)}
	sentences = append(sentences, seen(e, s)...)
	sentences = append(sentences, foreseen(s)...)
	sentences = append(sentences, wanted(r, s)...)
	sentences = append(sentences, corrected(s)...)
	if r.Rung != "" {
		sentences = append(sentences, fmt.Sprintf("The guard's ladder stood at: %s.", r.Rung))
	}
	sentences = append(sentences, expected(r, s)...)
	return strings.Join(sentences, " ")
}

// Pass describes a decision without any service.
func Pass(r *decisionlog.Record) string {
	if r.Error != "" {
		return fmt.Sprintf("At %s nothing was decided, and everything was left as it was: %s.", Instant(r.At), trim(r.Error))
	}
	return fmt.Sprintf("At %s the policy %s had nothing to say.", Instant(r.At), r.Policy)
}

// what happened to the service.
func what(r *decisionlog.Record, s *decisionlog.Service) string {
	before := s.Before()
	if s.Plan == nil {
		return fmt.Sprintf("At %s %s was left at %s.", Instant(r.At), s.Name, Replicas(before.Replicas))
	}
	after := before.With(s.Plan.Setting())
	switch {
	case r.Applied.IsZero():
		return fmt.Sprintf("At %s %s was to %s, but it was not applied%s.", Instant(r.At), s.Name, change(before, after, toCome),
			because(r.Error))
	case r.Mode != "" && r.Mode != "Act":
		return fmt.Sprintf("At %s %s would have %s; in mode %s nothing is changed.", Instant(r.Applied), s.Name,
			change(before, after, supposed), r.Mode)
	}
	return fmt.Sprintf("At %s %s %s.", Instant(r.Applied), s.Name, change(before, after, done))
}

// wanted is the policy's proposal.
func wanted(r *decisionlog.Record, s *decisionlog.Service) []string {
	switch {
	case s.Proposal == nil && r.Error != "" && (s.Plan == nil || !r.Applied.IsZero()):
		return []string{fmt.Sprintf("The policy %s could not decide: %s.", r.Policy, trim(r.Error))}
	case s.Proposal == nil:
		return []string{fmt.Sprintf("The policy %s said nothing of it.", r.Policy)}
	}
	want := s.Proposal.Setting.Setting()
	asked := "no change"
	if !want.Empty() {
		asked = Setting(want)
		if s.Before().Changes(want).Empty() {
			asked += ", as it is"
		}
	}
	return []string{fmt.Sprintf("The policy %s asked for %s%s.", r.Policy, asked, because(s.Proposal.Reason))}
}

// corrected is the correction of each guard.
func corrected(s *decisionlog.Service) []string {
	var all []string
	for _, g := range s.Guards {
		all = append(all, fmt.Sprintf("The guard %s %s%s.", g.Name, correction(g.From.Setting(), g.To.Setting()), because(g.Reason)))
	}
	return all
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + trim(reason)
}

func trim(reason string) string { return strings.TrimRight(strings.TrimSpace(reason), ".") }

// Short is a change in a few words, for lists: "3 to 5 replicas".
func Short(s *decisionlog.Service) string {
	if s.Plan == nil {
		return ""
	}
	before := s.Before()
	return Change(before, before.With(s.Plan.Setting()))
}

// Change from one allocation to another in a few words.
func Change(before, after loadline.Allocation) string { return strings.Join(axes(before, after), ", ") }

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

// Since describes a later decision that did not change the service, or failed to.
func Since(e *decisionlog.Entry, service string) string {
	r, s := e.Record, e.Record.Service(service)
	switch {
	case s.Plan != nil:
		return what(r, s)
	case r.Error != "":
		return fmt.Sprintf("It was left so, last at %s: the policy %s could not decide: %s.", Instant(r.At), r.Policy, trim(r.Error))
	case s.Proposal == nil:
		return fmt.Sprintf("It was left so, last at %s, when the policy %s said nothing of it.", Instant(r.At), r.Policy)
	}
	return fmt.Sprintf("It was left so, last at %s%s.", Instant(r.At), because(s.Proposal.Reason))
}
