package twin

import "fmt"

// Assumption is a figure of the twin that is not in the history.
type Assumption struct {
	Field string `json:"field"` // of the model file
	Value string `json:"value"`
	Why   string `json:"why"`
}

// notes collects remarks for the reader of the twin.
type notes struct {
	assumed  []Assumption
	warnings []string
}

// assume records a figure that is not in the history.
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
