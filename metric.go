package loadline

import (
	"fmt"
	"slices"
)

// This file is the table of all metrics. The simulated observer, histories, the exposition, the
// live reading of Prometheus, the decision log, doctor and the documentation take names, units,
// aggregation and meaning from it, so that a new metric is a row here, a line where the engines
// export it, and a query if none can be derived from its series.

// Metric is one row of the table.
type Metric struct {
	Scope       Scope
	Name        string // in columns, query presets, reports and, unless Log sets another, the decision log
	Unit        string // "1/s", "s", "cores", "bytes", "share", "count"
	Aggregation Aggregation
	Help        string // one line
	// Absent is the meaning of an absent sample. An absent value is never zero.
	Absent string
	// Cost is the effect on a fit if a history does not have the metric.
	Cost string
	// Column is the position among the columns of a history, from 1; 0 = not in histories. An
	// existing column keeps its number.
	Column int
	// Log is the key in the decision log if that is not the name; a dot separates the key of a
	// nested object.
	Log string
	// Series is the per-container series of Prometheus, if there is one: a counter for
	// PerSecond, Total and Ratio, else a gauge.
	Series string
	// Per is the metric in the denominator of a Ratio.
	Per ServiceMetric
}

// Scope is the kind of object that a metric describes.
type Scope string

// Scopes.
const (
	OfService Scope = "service"
	OfPod     Scope = "pod"
	OfKind    Scope = "kind"
	OfNode    Scope = "node"
	OfCall    Scope = "call" // from one service to another; histories only
)

// Aggregation is how scrapes become one value.
type Aggregation int

// How scrapes become a value: over the window of an observation, and over the
// step of a history.
const (
	PerSecond  Aggregation = iota // increase of a counter per second; pods are added up
	Gauge                         // the last scrape, the mean over a step; pods are added up
	Total                         // a counter from the start, its increase over a step; pods are added up
	Ratio                         // increase of one counter over that of another
	Quantile                      // of the latency of what ended
	Mean                          // of the latency of what ended
	PerReplica                    // mean over the replicas that have a value
)

// String names the aggregation in tables.
func (a Aggregation) String() string {
	return [...]string{"rate", "gauge", "total", "ratio", "quantile", "mean", "mean per replica"}[a]
}

// Adds reports whether several series of one service are added up. Otherwise the largest
// counts.
func (a Aggregation) Adds() bool { return a == PerSecond || a == Gauge || a == Total }

// LogKey is the key of the metric in the decision log.
func (m *Metric) LogKey() string {
	if m.Log != "" {
		return m.Log
	}
	return m.Name
}

// Row is a metric and its field in an observation.
type Row[O any] struct {
	Metric
	Field func(*O) *Sample // nil: observations do not have it
}

// Table is the rows of one scope, by metric.
type Table[M ~int, O any] []Row[O]

// Named finds a metric by its name.
func (t Table[M, O]) Named(name string) (M, bool) {
	i := slices.IndexFunc(t, func(r Row[O]) bool { return r.Name == name })
	return M(i), i >= 0
}

// Columns are the metrics that histories keep, in the order of their columns.
func (t Table[M, O]) Columns() []M {
	var list []M
	for m := range t {
		if t[m].Column > 0 {
			list = append(list, M(m))
		}
	}
	slices.SortFunc(list, func(a, b M) int { return t[a].Column - t[b].Column })
	return list
}

// Names of the metrics, in the order of the table.
func (t Table[M, O]) Names() []string {
	names := make([]string, len(t))
	for i := range t {
		names[i] = t[i].Name
	}
	return names
}

// Measured is every row of every table.
func Measured() []Metric {
	return slices.Concat(rowsOf(ServiceTable), rowsOf(PodTable), rowsOf(KindTable), rowsOf(NodeTable), rowsOf(CallTable))
}

func rowsOf[M ~int, O any](t Table[M, O]) []Metric {
	list := make([]Metric, len(t))
	for i := range t {
		list[i] = t[i].Metric
	}
	return list
}

// MoreMetrics is how many service metrics without a field of their own may be added to the
// table.
const MoreMetrics = 4

// AddServiceMetric adds a row to the table of services. It is in ServiceObservation.More, in
// the readings of the simulated exporters with the other metrics, and in the next column of
// histories. Call it before anything is measured; remove removes the row.
func AddServiceMetric(m Metric) (added ServiceMetric, remove func(), err error) {
	place := len(ServiceTable) - int(builtinServiceMetrics)
	if place >= MoreMetrics {
		return 0, nil, fmt.Errorf("add metric %s: the table has room for %d more metrics and all are taken", m.Name, MoreMetrics)
	}
	if _, taken := ServiceTable.Named(m.Name); taken || m.Name == "" {
		return 0, nil, fmt.Errorf("add metric %q: the name must be new and not empty", m.Name)
	}
	m.Scope = OfService
	columns := ServiceTable.Columns()
	m.Column = ServiceTable[columns[len(columns)-1]].Column + 1
	added = ServiceMetric(len(ServiceTable))
	ServiceTable = append(ServiceTable, Row[ServiceObservation]{m, func(o *ServiceObservation) *Sample { return &o.More[place] }})
	return added, func() { ServiceTable = slices.Clone(ServiceTable[:added]) }, nil
}
