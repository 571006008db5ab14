package drpc

import "github.com/loadline/loadline"

// View is the measured part of a teacher's state, independent of its shape.
type View struct {
	Locals   []Local            // by service
	Besides  [][besides]float32 // likewise
	Machines []Machine          // by node
}

// Machine is the utilisation of the requests on a node.
type Machine struct {
	CPU, Memory float32
	Known       bool // measured, and not empty
}

// Observe fills a view from a situation and the students' observations.
func (e *Encoder) Observe(s loadline.Situation, locals []Local, into *View) {
	into.Locals = append(into.Locals[:0], locals...)
	into.Besides, into.Machines = into.Besides[:0], into.Machines[:0]
	for i := range locals {
		// Those of the allocation are always present.
		e.values, _ = e.more.Append(e.Topology, s, i, e.values[:0])
		into.Besides = append(into.Besides, [besides]float32(e.values))
	}
	for k := range e.App.Nodes {
		cpu, memory, known := utilisation(s.Now(), k)
		into.Machines = append(into.Machines, Machine{float32(cpu), float32(memory), known})
	}
}

// Encode encodes a view for a teacher: all students' states, the machines, and, in the shared
// shape, the constants of each service.
func (e *Encoder) Encode(shape Shape, v *View, into []float32) []float32 {
	if shape == Plain {
		for i := range v.Locals {
			into = append(into, v.Locals[i][:]...)
		}
		for _, m := range v.Machines {
			into = append(into, m.CPU, m.Memory)
		}
		return into
	}
	common := v.common()
	for i := range v.Locals {
		into = append(into, v.Locals[i][:]...)
		into = append(into, v.Besides[i][:]...)
		into = append(into, e.passing[i])
		into = append(into, common[:]...)
	}
	return into
}

// common is a summary of the application, for every row of the shared shape.
func (v *View) common() (c [commons]float32) {
	for i := range v.Locals {
		for j, value := range v.Locals[i] {
			c[j] += value / float32(len(v.Locals))
		}
		c[Locals] = max(c[Locals], v.Locals[i][0])
		c[Locals+1] = max(c[Locals+1], v.Locals[i][Locals-1])
	}
	machines := c[Locals+2:]
	count := 0
	for _, m := range v.Machines {
		if !m.Known {
			continue
		}
		for r, u := range [2]float32{m.CPU, m.Memory} {
			of := machines[3*r:]
			if count == 0 {
				of[1], of[2] = u, u
			}
			of[0] += u
			of[1], of[2] = min(of[1], u), max(of[2], u)
		}
		count++
	}
	if count > 0 {
		machines[0] /= float32(count)
		machines[3] /= float32(count)
	}
	return c
}
