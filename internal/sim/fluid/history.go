package fluid

// history records the course of an overload, so that a visit that leaves now gets the delay of
// the time it was there, not the present one.
type history struct {
	entry [historyLength]moment
	head  int // next entry
	n     int
}

const historyLength = 64

// moment is one step of an overload.
type moment struct {
	span     float64 // seconds
	served   float64 // CPU seconds that each visit in the crowd got
	arrivals float64 // visits
}

// push adds a step. After the overload, its record is dropped once every visit from that time
// has left.
func (h *history) push(span, speed, arrivals float64, on bool) {
	if !on {
		h.n = 0
		return
	}
	h.entry[h.head] = moment{span: span, served: speed * span, arrivals: arrivals}
	h.head = (h.head + 1) % historyLength
	h.n = min(h.n+1, historyLength)
}

// since returns how long ago a visit started that has received the given CPU time by now.
func (h *history) since(cpu float64) float64 {
	ago := 0.0
	for i := 1; i <= h.n && cpu > 0; i++ {
		m := &h.entry[(h.head-i+historyLength)%historyLength]
		if m.served >= cpu {
			return ago + m.span*cpu/m.served
		}
		cpu -= m.served
		ago += m.span
	}
	return ago
}

// age returns how long ago a visit arrived, given the number of visits since.
func (h *history) age(visits float64) float64 {
	ago := 0.0
	for i := 1; i <= h.n && visits > 0; i++ {
		m := &h.entry[(h.head-i+historyLength)%historyLength]
		if m.arrivals >= visits {
			return ago + m.span*visits/m.arrivals
		}
		visits -= m.arrivals
		ago += m.span
	}
	return ago
}
