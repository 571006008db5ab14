package twin

import "fmt"

// Assumption is a figure of the twin that the history does not hold.
type Assumption struct {
	Field string `json:"field"` // of the model file
	Value string `json:"value"`
	Why   string `json:"why"`
}

// notes gathers what a reader of the twin should know.
type notes struct {
	assumed  []Assumption
	warnings []string
}

// assume notes a figure that the history does not hold.
func (n *notes) assume(field string, value any, why string) {
	n.assumed = append(n.assumed, Assumption{field, fmt.Sprint(value), why})
}

func (n *notes) warn(format string, args ...any) {
	n.warnings = append(n.warnings, fmt.Sprintf(format, args...))
}

func (n *notes) take(o notes) {
	n.assumed = append(n.assumed, o.assumed...)
	n.warnings = append(n.warnings, o.warnings...)
}
