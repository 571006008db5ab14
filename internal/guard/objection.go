package guard

import "time"

// objection is one reason not to follow the model. Once raised it stays open until its
// cause has been absent for a given time without interruption. Time in which the cause
// cannot be observed does not count.
type objection struct {
	open  bool
	why   string
	clean time.Duration // for which the cause has been away
	last  time.Duration // when that was looked at
}

func (o *objection) raise(at time.Duration, why string) {
	*o = objection{open: true, why: why, last: at}
}

// finding is the present state of the cause.
type finding int

const (
	away finding = iota
	unknown
	there
)

// consider closes the objection if its cause has been absent for long enough, and
// reports whether it did so now.
func (o *objection) consider(at, enough time.Duration, f finding) bool {
	if !o.open {
		return false
	}
	switch f {
	case away:
		o.clean += at - o.last
	case there:
		o.clean = 0
	}
	o.last = at
	if f == away && o.clean >= enough {
		*o = objection{}
		return true
	}
	return false
}
