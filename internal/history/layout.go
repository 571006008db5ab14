package history

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// Names of the columns that say what a row speaks of.
const (
	columnTime      = "time"
	columnService   = "service"
	columnFrom      = "from"
	columnTo        = "to"
	columnOperation = "operation"
)

// What a part's file says of itself in its Parquet metadata.
const (
	keyVersion = "loadline.history.version"
	keyOf      = "loadline.history.of" // "services" or "calls"
	keyPart    = "loadline.history.part"
)

func servicesFile(part int) string { return fmt.Sprintf("services-%04d.parquet", part) }
func callsFile(part int) string    { return fmt.Sprintf("calls-%04d.parquet", part) }

// table is the layout of one of the two kinds of files: the columns that name a
// row, then one column per metric.
type table struct {
	of      string
	names   []string // of the columns that name a row, after time
	metrics []string
	schema  *parquet.Schema
}

var (
	services = newTable("services", []string{columnService}, metricNames(ServiceMetrics))
	calls    = newTable("calls", []string{columnFrom, columnTo, columnOperation}, metricNames(CallMetrics))
)

func metricNames[M interface {
	~int
	fmt.Stringer
}](count M) []string {
	names := make([]string, count)
	for m := range count {
		names[m] = m.String()
	}
	return names
}

// newTable makes the schema from the names, because a struct written by hand
// would have to repeat metric.go. The bytes of floats are split, which packs
// them best; nothing is kept in a dictionary but names.
func newTable(of string, names, metrics []string) *table {
	fields := []reflect.StructField{column(0, reflect.TypeFor[int64](), columnTime, "timestamp", "delta", "zstd")}
	for _, name := range names {
		fields = append(fields, column(len(fields), reflect.TypeFor[string](), name, "dict", "zstd"))
	}
	for _, name := range metrics {
		fields = append(fields, column(len(fields), reflect.TypeFor[float32](), name, "optional", "split", "zstd"))
	}
	model := reflect.New(reflect.StructOf(fields)).Interface()
	return &table{of: of, names: names, metrics: metrics, schema: parquet.SchemaOf(model)}
}

func column(i int, t reflect.Type, name string, options ...string) reflect.StructField {
	tag := fmt.Sprintf("parquet:%q", strings.Join(append([]string{name}, options...), ","))
	return reflect.StructField{Name: fmt.Sprintf("C%d", i), Type: t, Tag: reflect.StructTag(tag)}
}
