package chaos

import (
	"fmt"
	"time"
)

// checkLeader: whoever writes replicas holds the lease when it sends the write.
func checkLeader(r *Record) []Violation {
	var all []Violation
	for i := range r.Writes {
		w := &r.Writes[i]
		if !w.stored() {
			continue
		}
		holder := r.holder(w.Received)
		if holder == nil || holder.Process != w.Process {
			who := "no process"
			if holder != nil && holder.Process != "" {
				who = holder.Process
			}
			all = append(all, Violation{At: w.Received, What: fmt.Sprintf("%s set %s/%s to %d replicas while %s held the lease",
				w.Process, w.App, w.Service, w.Replicas, who)})
		}
	}
	return all
}

func (r *Record) holder(at time.Time) *Holder {
	var last *Holder
	for i := range r.Holders {
		if !r.Holders[i].At.After(at) {
			last = &r.Holders[i]
		}
	}
	return last
}

// checkOnce: a decision is applied at most once, from the replicas that it was made for.
func checkOnce(r *Record) []Violation {
	var all []Violation
	from := map[string]*Change{} // by version
	for i := range r.Changes {
		from[r.Changes[i].Version] = &r.Changes[i]
	}
	used := map[*Decision]*Write{}
	for i := range r.Writes {
		w := &r.Writes[i]
		c := from[w.Version]
		if !w.stored() || c == nil {
			continue // it changed nothing, or the watch was interrupted
		}
		d := r.decisionOf(w)
		if d == nil || d.To != w.Replicas {
			continue // checkRecorded reports it
		}
		if first := used[d]; first != nil {
			all = append(all, Violation{At: w.Received, What: fmt.Sprintf("%s/%s was set to %d replicas twice by the decision of %s, first at %s",
				w.App, w.Service, w.Replicas, clockTime(d.At), clockTime(first.Received))})
		}
		used[d] = w
		if d.From != c.From && !d.Brownout && !c.Gap {
			all = append(all, Violation{At: w.Received, What: fmt.Sprintf(
				"%s/%s was set from %d to %d replicas by a decision that was made for %d", w.App, w.Service, c.From, c.To, d.From)})
		}
	}
	return all
}

// decisionOf a write: the last one of its process about its service before it. A pass ends before
// the next one begins.
func (r *Record) decisionOf(w *Write) *Decision {
	var last *Decision
	for i := range r.Decisions {
		d := &r.Decisions[i]
		same := d.Process == w.Process && d.App == w.App && d.Service == w.Service
		if same && !d.At.After(w.Received) && (last == nil || d.At.After(last.At)) {
			last = d
		}
	}
	return last
}

// checkRecorded: every change of replicas by Loadline was written by one of its processes, and
// every write has a decision with a reason in its log. While the disk is full, the process' own
// log has both. A process that is killed between writing and recording leaves no record.
func checkRecorded(r *Record) []Violation {
	var all []Violation
	written := map[string]bool{}
	for i := range r.Writes {
		w := &r.Writes[i]
		if !w.stored() {
			continue
		}
		written[w.Version] = true
		if what := r.unrecorded(w); what != "" {
			all = append(all, Violation{At: w.Received, What: fmt.Sprintf("%s set %s/%s to %d replicas: %s", w.Process, w.App, w.Service,
				w.Replicas, what)})
		}
	}
	for i := range r.Changes {
		if c := &r.Changes[i]; c.Manager == Manager && !c.Gap && !written[c.Version] && r.spec(c.App, c.Service, c.At) != nil {
			all = append(all, Violation{At: c.At, What: fmt.Sprintf("%s/%s was scaled from %d to %d, and no process has sent that", c.App,
				c.Service, c.From, c.To)})
		}
	}
	return all
}

// unrecorded is what a write lacks; "" = nothing.
func (r *Record) unrecorded(w *Write) string {
	d := r.decisionOf(w)
	switch {
	case d != nil && d.Planned && d.To == w.Replicas && d.Why != "":
		return ""
	case d != nil && d.Planned && d.To == w.Replicas:
		return "its decision has no reason"
	case r.logged(w): // the end of a brownout that is not decided, or a full disk
		return ""
	case r.cutShort(w):
		return ""
	}
	return "there is no decision"
}

// logged reports whether the process' own log has the change with a reason, where the decision
// log cannot have it: a brownout ends without a decision, or the disk was full.
func (r *Record) logged(w *Write) bool {
	full := false
	for i := range r.Faults {
		f := &r.Faults[i]
		full = full || f.Kind == FillDisk && !w.Received.Before(f.Begin) && !w.Received.After(f.End)
	}
	for i := range r.Logged {
		l := &r.Logged[i]
		if l.Process == w.Process && l.App == w.App && l.Service == w.Service && l.To == w.Replicas && l.Why != "" {
			if full || l.Restored {
				return true
			}
		}
	}
	return false
}

// cutShort reports whether the process was killed before it recorded anything later.
func (r *Record) cutShort(w *Write) bool {
	killed := false
	for i := range r.Processes {
		p := &r.Processes[i]
		killed = killed || p.Name == w.Process && p.Killed
	}
	for i := range r.Decisions {
		if d := &r.Decisions[i]; d.Process == w.Process && d.App == w.App && d.At.After(w.Received) {
			return false
		}
	}
	return killed
}
