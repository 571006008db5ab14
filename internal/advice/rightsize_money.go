package advice

import (
	"github.com/loadline/loadline/internal/history"
	"github.com/loadline/loadline/internal/sim/pool"
)

const gibibyte = 1 << 30

// price computes the money per month. Each step is paid for by the larger of request and use, as
// OpenCost allocates. Today's replicas are those of the history; those after it follow them in
// the ratio that the simulation shows.
func (r *Rightsizing) price(h *history.History, prices pool.Prices, replicas [][2]float64) {
	for i := range r.Services {
		p := &r.Services[i]
		of := h.Service(p.Name)
		if of == nil {
			continue
		}
		ratio := 1.0
		if replicas[i][0] > 0 {
			ratio = replicas[i][1] / replicas[i][0]
		}
		steps := 0
		var month [2]float64
		for step := range h.Steps {
			pods, known := of.Series[history.Ready].Get(step)
			if !known {
				continue
			}
			steps++
			cpu, _ := of.Series[history.CPU].Get(step)
			memory, _ := of.Series[history.Memory].Get(step)
			for k, a := range []Amounts{p.Today, p.After} {
				n := pods
				if k == 1 {
					n *= ratio
				}
				month[k] += prices.CoreHour*max(n*a.CPURequest, cpu) + prices.GiBHour*max(n*float64(a.MemoryRequest), memory)/gibibyte
			}
		}
		if steps == 0 {
			continue
		}
		p.Month = Money{month[0] / float64(steps) * monthHours, month[1] / float64(steps) * monthHours}
		r.Month.Today += p.Month.Today
		r.Month.After += p.Month.After
	}
}

// Saves is the money per month that the proposal saves; below 0 it costs more.
func (r *Rightsizing) Saves() float64 { return r.Month.Today - r.Month.After }
