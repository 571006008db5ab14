package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/suggest"
)

// place is what is measured of a kind of request.
type place struct {
	entries []entry // users' requests
	service string  // or all that this service is asked
	direct  bool    // less what is known to ask it
	queue   bool    // whose messages are the requests
	why     string  // or nothing, for this reason
}

// locate says which users' requests are those of each kind: those at the service
// and of the operation that were named; else those that the kind is named after,
// as a twin does it; else all at the kind's entry that no other kind has.
//
// Where users' requests are not measured apart and never have been, a kind is what
// its service is asked by everybody.
func (s *Source) locate(a *answers) []place {
	seen := a.userEntries()
	s.users = s.users || len(seen) > 0
	places := make([]place, len(s.o.App.Kinds))
	taken := map[entry]bool{}
	for i := range places {
		places[i].entries = s.stated(i, seen)
		for _, e := range places[i].entries {
			taken[e] = true
		}
	}
	for i := range places {
		p := &places[i]
		entrance := s.entrance(i)
		switch {
		case s.queued(entrance): // nobody's requests: its messages
			p.entries, p.service, p.queue = nil, entrance, true
		case len(p.entries) > 0:
		case s.isDirect(i):
			p.service, p.direct = entrance, true
		case s.o.Kinds[i].Operation != "":
			p.why = s.noOperation(i, seen)
		case s.o.Kinds[i].Service != "" && s.users:
			p.why = s.noUsers(entrance, seen)
		case s.o.Kinds[i].Service != "":
			p.service = entrance
		default:
			*p = s.rest(i, places, seen, taken)
		}
	}
	return places
}

// userEntries are the users' requests that any question has brought, in order.
func (a *answers) userEntries() []entry {
	var list []entry
	for i := range a.list {
		if q := &a.questions[i]; q.of != ofCalls || q.newest == none {
			continue // an age may outlive what it is the age of
		}
		for e := range a.list[i].values {
			list = append(list, e)
		}
		for e := range a.list[i].histograms {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.operation, b.operation))
	})
	return slices.Compact(list)
}

// entrance is the service at which the requests of a kind arrive.
func (s *Source) entrance(kind int) string {
	if name := s.o.Kinds[kind].Service; name != "" {
		return name
	}
	return s.o.App.Services[s.o.App.Kinds[kind].Root.Service].Name
}

// isDirect: a twin's kind of what no measured caller explains.
func (s *Source) isDirect(kind int) bool {
	return s.o.Kinds[kind].Service == "" && s.o.App.Kinds[kind].Name == history.DirectKind(s.entrance(kind))
}

// stated are the users' requests that a kind claims by place or by name.
func (s *Source) stated(kind int, seen []entry) []entry {
	w, name := s.o.Kinds[kind], s.o.App.Kinds[kind].Name
	var list []entry
	for _, e := range seen {
		switch {
		case e.name != s.entrance(kind):
		case w.Service != "" && (w.Operation == "" || w.Operation == e.operation),
			w.Service == "" && history.IsKind(name, e.name, e.operation):
			list = append(list, e)
		}
	}
	return list
}

// rest is what a kind without any claim has: the requests at its entry that nobody
// claims, provided that no other such kind would have them too.
func (s *Source) rest(kind int, places []place, seen []entry, taken map[entry]bool) place {
	entrance := s.entrance(kind)
	for other := range places {
		if other != kind && s.o.Kinds[other].Service == "" && len(s.stated(other, seen)) == 0 && !s.isDirect(other) &&
			s.entrance(other) == entrance {
			return place{why: fmt.Sprintf("the metrics do not tell it from %s, which arrives at %s too: say by which operation they "+
				"differ, with queries that tell operations apart", s.o.App.Kinds[other].Name, entrance)}
		}
	}
	if !s.users {
		return place{service: entrance}
	}
	var p place
	for _, e := range seen {
		if e.name == entrance && !taken[e] {
			p.entries = append(p.entries, e)
		}
	}
	if p.entries == nil {
		p.why = s.noUsers(entrance, seen)
	}
	return p
}

func (s *Source) noUsers(entrance string, seen []entry) string {
	var at []string
	for _, e := range seen {
		at = append(at, e.name)
	}
	at = slices.Compact(at)
	if len(at) == 0 || slices.Contains(at, entrance) {
		return fmt.Sprintf("users' requests to %s are not in the metrics at present", entrance)
	}
	return fmt.Sprintf("users' requests arrive at %s, none at %s: name the service in the objective", strings.Join(at, ", "), entrance)
}

func (s *Source) noOperation(kind int, seen []entry) string {
	w := s.o.Kinds[kind]
	var known []string
	for _, e := range seen {
		if e.name == w.Service && e.operation != "" {
			known = append(known, e.operation)
		}
	}
	if len(known) == 0 && slices.ContainsFunc(seen, func(e entry) bool { return e.name == w.Service }) {
		return fmt.Sprintf("preset %s does not tell operations apart: leave the operation out, or give queries that do",
			s.settled.preset.Name)
	}
	if len(known) == 0 {
		return fmt.Sprintf("users' requests to %s are not in the metrics at present", w.Service)
	}
	return fmt.Sprintf("%s receives no requests for %q at present%s", w.Service, w.Operation, suggest.Hint(w.Operation, known))
}
