//go:build !js

package history

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go"

	"github.com/loadline/loadline"
)

// Names of the columns that identify a row.
const (
	columnTime      = "time"
	columnService   = "service"
	columnFrom      = "from"
	columnTo        = "to"
	columnOperation = "operation"
	columnNode      = "node"
)

// Keys of a part's Parquet metadata.
const (
	keyVersion = "loadline.history.version"
	keyOf      = "loadline.history.of" // ofServices, ofCalls or ofNodes
	keyPart    = "loadline.history.part"

	ofServices = "services"
	ofCalls    = "calls"
	ofNodes    = "nodes"
)

func servicesFile(part int) string { return fmt.Sprintf("services-%04d.parquet", part) }
func callsFile(part int) string    { return fmt.Sprintf("calls-%04d.parquet", part) }
func nodesFile(part int) string    { return fmt.Sprintf("nodes-%04d.parquet", part) }

// table is the layout of one of the kinds of files: the key columns of a row, then one
// column per metric.
type table struct {
	of      string
	names   []string // of the key columns, after time
	metrics []string // of the columns after those
	index   []int    // by column: the metric in an array of series
	schema  *parquet.Schema
}

// layouts are the tables of the present metrics; metrics of services may have been added.
var layouts struct {
	sync.Mutex
	columns                int
	services, calls, nodes *table
}

// tables are the layouts of all kinds of files.
func tables() (services, calls, nodes *table) {
	layouts.Lock()
	defer layouts.Unlock()
	if columns := loadline.ServiceTable.Columns(); layouts.columns != len(columns) {
		layouts.columns = len(columns)
		layouts.services = newTable(ofServices, []string{columnService}, columns)
		layouts.calls = newTable(ofCalls, []string{columnFrom, columnTo, columnOperation}, loadline.CallTable.Columns())
		layouts.nodes = newTable(ofNodes, []string{columnNode}, loadline.NodeTable.Columns())
	}
	return layouts.services, layouts.calls, layouts.nodes
}

// pick selects the series of the columns, in their order, from an array by metric.
func (t *table) pick(all []Series) []Series {
	list := make([]Series, len(t.index))
	for column, m := range t.index {
		list[column] = all[m]
	}
	return list
}

// newTable makes the schema from the names, because a struct would have to repeat the table of
// metrics. Floats use byte stream split, which compresses them best; only names use a
// dictionary.
func newTable[M interface {
	~int
	fmt.Stringer
}](of string, names []string, columns []M) *table {
	t := &table{of: of, names: names}
	fields := []reflect.StructField{column(0, reflect.TypeFor[int64](), columnTime, "timestamp", "delta", "zstd")}
	for _, name := range names {
		fields = append(fields, column(len(fields), reflect.TypeFor[string](), name, "dict", "zstd"))
	}
	for _, m := range columns {
		t.metrics, t.index = append(t.metrics, m.String()), append(t.index, int(m))
		fields = append(fields, column(len(fields), reflect.TypeFor[float32](), m.String(), "optional", "split", "zstd"))
	}
	model := reflect.New(reflect.StructOf(fields)).Interface()
	t.schema = parquet.SchemaOf(model)
	return t
}

func column(i int, t reflect.Type, name string, options ...string) reflect.StructField {
	tag := fmt.Sprintf("parquet:%q", strings.Join(append([]string{name}, options...), ","))
	return reflect.StructField{Name: fmt.Sprintf("C%d", i), Type: t, Tag: reflect.StructTag(tag)}
}
