package workload

import "time"

// Alibaba cluster-trace-v2018: utilisation of machines and containers in
// percent, on a grid of 10 s from which many readings are absent. The files
// have no header.

var alibaba2018Machine = &format{
	name:    "alibaba2018-machine",
	help:    "Alibaba 2018 machine_usage: utilisation of some 4,000 machines, 10 s, 8 days",
	unit:    Utilisation,
	period:  10 * time.Second,
	combine: CombineMean,
	columns: []string{"machine_id", "time_stamp", "cpu_util_percent", "mem_util_percent",
		"mem_gps", "mkpi", "net_in", "net_out", "disk_io_percent"},
	keys:    []string{"machine_id"},
	metrics: []string{"cpu_util_percent", "mem_util_percent"},
	looks: func(f []string) bool {
		return !isNumber(f[0]) && isNumber(f[1])
	},
	open: func(in *input) func() { return in.percentRows("time_stamp") },
}

var alibaba2018Container = &format{
	name:    "alibaba2018-container",
	help:    "Alibaba 2018 container_usage: utilisation of containers, 10 s, 8 days",
	unit:    Utilisation,
	period:  10 * time.Second,
	combine: CombineMean,
	columns: []string{"container_id", "machine_id", "time_stamp", "cpu_util_percent", "mem_util_percent",
		"cpi", "mem_gps", "mpki", "net_in", "net_out", "disk_io_percent"},
	keys:    []string{"container_id", "machine_id"},
	metrics: []string{"cpu_util_percent", "mem_util_percent"},
	looks: func(f []string) bool {
		return !isNumber(f[0]) && !isNumber(f[1]) && isNumber(f[2])
	},
	open: func(in *input) func() { return in.percentRows("time_stamp") },
}

// percentRows reads rows of one time in seconds and one utilisation in percent.
func (in *input) percentRows(timeColumn string) func() {
	at, value := in.position(timeColumn), in.position(in.metric)
	return func() {
		if !in.selected(in.field) {
			return
		}
		t, ok := in.instant(timeColumn, in.fields[at], time.Second)
		if !ok {
			return
		}
		// The schema marks abnormal readings with -1 and 101.
		if text := string(in.fields[value]); text == "-1" || text == "101" {
			in.report.Missing++
			return
		}
		if v, ok := in.reading(in.metric, in.fields[value], 0, 100); ok {
			in.put(t, v/100)
		}
	}
}

// field is a field of the current row, by position.
func (in *input) field(position int) []byte { return in.fields[position] }
