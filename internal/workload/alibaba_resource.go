package workload

import (
	"strings"
	"time"
)

// Alibaba cluster-trace-microservices, MSResource: utilisation of instances
// from 0 to 1, every minute, time in milliseconds. 2021 and 2022 share their
// columns; in 2022 the values are min-max normalised, so that 1 is the highest
// ever seen rather than a full machine. Released files may begin with an
// unnamed index column.

var resourceColumns = []string{"timestamp", "msname", "msinstanceid", "nodeid", "cpu_utilization", "memory_utilization"}

var alibaba2021Resource = &format{
	name:    "alibaba2021-resource",
	help:    "Alibaba microservices 2021 MSResource: utilisation of service instances, 1 min, 12 h",
	unit:    Utilisation,
	period:  time.Minute,
	combine: CombineMean,
	columns: resourceColumns,
	headed:  true,
	keys:    []string{"msname", "msinstanceid", "nodeid"},
	metrics: []string{"cpu_utilization", "memory_utilization"},
	open:    resourceRows,
}

var alibaba2022Resource = &format{
	name:    "alibaba2022-resource",
	help:    "Alibaba microservices 2022 MSResource: normalised utilisation of service instances, 1 min, 13 days",
	unit:    Utilisation,
	period:  time.Minute,
	combine: CombineMean,
	columns: resourceColumns,
	headed:  true,
	keys:    []string{"msname", "msinstanceid", "nodeid"},
	metrics: []string{"cpu_utilization", "memory_utilization"},
	open:    resourceRows,
}

// looks2022 reports whether a row names its service as the 2022 files do; those
// of 2021 are 64 hexadecimal digits.
func looks2022(head, row []string) bool {
	for i, name := range head {
		if columnName(name) == "msname" && i < len(row) {
			return strings.HasPrefix(row[i], "MS_")
		}
	}
	return false
}

func resourceRows(in *input) func() {
	value := in.position(in.metric)
	return func() {
		if !in.selected(in.field) {
			return
		}
		t, ok := in.instant("timestamp", in.text(0), time.Millisecond)
		if !ok {
			return
		}
		if v, ok := in.reading(in.metric, in.fields[value], 0, 1); ok {
			in.put(t, v)
		}
	}
}
