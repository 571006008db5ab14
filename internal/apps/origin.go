package apps

import "strings"

// Origin is where figures come from.
type Origin struct {
	Name   string // as the tags name it
	Kind   Provenance
	Source string // for a person: the data, page or reasoning
}

// Provenance is the kind of a figure's source.
type Provenance string

const (
	Measured   Provenance = "measured"   // on a running system
	Documented Provenance = "documented" // stated or coded by the application's authors
	Assumed    Provenance = "assumed"    // ours, with a reason in the origin's source
	Unmarked   Provenance = "unmarked"   // not stated in the file
	Defaulted  Provenance = "defaulted"  // not in the file: the format's default
)

// Provenances lists them, the best first.
func Provenances() []Provenance {
	return []Provenance{Measured, Documented, Assumed, Unmarked, Defaulted}
}

// Figure is one number of a model.
type Figure struct {
	Field  string
	Line   int    // 0 = defaulted
	Value  string // as written, or the default
	Origin string // name of an Origin; empty = unmarked or defaulted
}

// localTag returns the origin that a YAML tag names. Tags with two exclamation marks (!!str)
// are YAML's own.
func localTag(tag string) (string, bool) {
	name, ok := strings.CutPrefix(tag, "!")
	return name, ok && !strings.HasPrefix(name, "!")
}
