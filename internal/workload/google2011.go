package workload

import (
	"math"
	"strconv"
	"time"
)

// Google cluster-data-2011-2, task_usage: CPU and memory of tasks over windows
// of up to 300 s, no header, time in microseconds. Values are parts of the
// largest machine; a job's demand is the sum over its tasks.

var google2011 = &format{
	name:    "google2011",
	help:    "Google 2011 task_usage: CPU of tasks in parts of the largest machine, 300 s, 29 days",
	unit:    Utilisation,
	period:  300 * time.Second,
	combine: CombineSum,
	columns: []string{"start_time", "end_time", "job_id", "task_index", "machine_id", "cpu_rate",
		"canonical_memory_usage", "assigned_memory_usage", "unmapped_page_cache", "total_page_cache",
		"maximum_memory_usage", "disk_io_time", "local_disk_space_usage", "maximum_cpu_rate",
		"maximum_disk_io_time", "cycles_per_instruction", "memory_accesses_per_instruction",
		"sample_portion", "aggregation_type", "sampled_cpu_usage"},
	keys:    []string{"job_id", "task_index", "machine_id"},
	metrics: []string{"cpu_rate", "maximum_cpu_rate", "canonical_memory_usage"},
	looks: func(f []string) bool {
		_, start := strconv.ParseUint(f[0], 10, 64)
		_, end := strconv.ParseUint(f[1], 10, 64)
		return start == nil && end == nil
	},
	open: func(in *input) func() {
		value := in.position(in.metric)
		return func() {
			if !in.selected(in.field) {
				return
			}
			from, ok := in.instant("start_time", in.text(0), time.Microsecond)
			if !ok {
				return
			}
			to, ok := in.instant("end_time", in.text(1), time.Microsecond)
			if !ok {
				return
			}
			if v, ok := in.reading(in.metric, in.fields[value], 0, math.Inf(1)); ok {
				in.putWindow(from, to, v)
			}
		}
	},
}

// longestWindow is well above the 300 s that both Google traces document.
const longestWindow = int64(time.Hour)

// putWindow adds a reading that is valid over a window.
func (in *input) putWindow(from, to int64, value float64) {
	if to <= from || to-from > longestWindow {
		in.fault("end_time", time.Duration(to).String(), "must be after start_time ("+time.Duration(from).String()+"), by at most an hour")
		return
	}
	if err := in.bins.addSpan(from, to, value); err != nil {
		in.fault("start_time", time.Duration(from).String(), err.Error())
	}
}
