package workload

import (
	"encoding/json"
	"math"
	"strings"
	"time"
)

// Google cluster-data 2019 (Borg), instance_usage as BigQuery exports it: one
// JSON object a line, 64-bit integers as strings or as numbers, time in
// microseconds. CPU is in parts of the largest machine.

var google2019 = &format{
	name:    "google2019",
	help:    "Google 2019 instance_usage as JSON lines: CPU of instances in parts of the largest machine, 300 s, 31 days",
	unit:    Utilisation,
	period:  300 * time.Second,
	combine: CombineSum,
	lines:   true,
	keys:    []string{"collection_id", "instance_index", "machine_id"},
	metrics: []string{"average_usage.cpus", "maximum_usage.cpus", "average_usage.memory", "maximum_usage.memory"},
	looks:   func(line []string) bool { return strings.HasPrefix(strings.TrimSpace(line[0]), "{") },
	open: func(in *input) func() {
		return func() {
			var row instanceUsage
			if err := json.Unmarshal(in.line, &row); err != nil {
				in.fault("", string(in.line), "must be a JSON object of instance_usage: "+err.Error())
				return
			}
			if !in.selected(row.key) {
				return
			}
			from, ok := in.instant("start_time", row.Start.digits(), time.Microsecond)
			if !ok {
				return
			}
			to, ok := in.instant("end_time", row.End.digits(), time.Microsecond)
			if !ok {
				return
			}
			if v, ok := in.reading(in.metric, row.metric(in.metric).digits(), 0, math.Inf(1)); ok {
				in.putWindow(from, to, v)
			}
		}
	},
}

type instanceUsage struct {
	Start      number `json:"start_time"`
	End        number `json:"end_time"`
	Collection number `json:"collection_id"`
	Instance   number `json:"instance_index"`
	Machine    number `json:"machine_id"`
	Average    usage  `json:"average_usage"`
	Maximum    usage  `json:"maximum_usage"`
}

type usage struct {
	CPUs   number `json:"cpus"`
	Memory number `json:"memory"`
}

// number is a JSON number, with or without quotes, unparsed; it is checked with the numbers of
// all formats.
type number []byte

func (n *number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	*n = append((*n)[:0], text...)
	return nil
}

func (n number) digits() []byte {
	if len(n) >= 2 && n[0] == '"' {
		return n[1 : len(n)-1]
	}
	return n
}

func (u *instanceUsage) key(position int) []byte {
	return []number{u.Collection, u.Instance, u.Machine}[position].digits()
}

func (u *instanceUsage) metric(name string) number {
	switch name {
	case "maximum_usage.cpus":
		return u.Maximum.CPUs
	case "average_usage.memory":
		return u.Average.Memory
	case "maximum_usage.memory":
		return u.Maximum.Memory
	}
	return u.Average.CPUs
}
