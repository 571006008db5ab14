package doctor

import "fmt"

// State is the severity of a finding.
type State string

const (
	OK      State = "ok"      // as it should be
	Note    State = "note"    // worth knowing; nothing has to be done
	Warning State = "warning" // something works less well than it could, or could not be checked
	Fault   State = "fault"   // something does not work
)

// States from good to bad.
var States = []State{OK, Note, Warning, Fault}

// Area is the subject of a finding.
type Area string

const (
	OfCluster      Area = "cluster"
	OfInstallation Area = "installation"
	OfPermissions  Area = "permissions"
	OfMetrics      Area = "metrics" // without a LoadLine
	OfApplication  Area = "application"
)

// areas in the order of a report.
var areas = []Area{OfCluster, OfInstallation, OfPermissions, OfMetrics, OfApplication}

// Finding is the result of one check.
type Finding struct {
	Area     Area   `json:"area"`
	Check    string `json:"check"`              // stable name, such as in-place-resize
	LoadLine string `json:"loadline,omitempty"` // NAMESPACE/NAME
	Service  string `json:"service,omitempty"`
	State    State  `json:"state"`
	Found    string `json:"found"`
	Do       string `json:"do,omitempty"` // empty if there is nothing to do
}

// Report is the findings of all checks, in order.
type Report struct {
	Server    string    `json:"server"`            // address of the API server
	Version   string    `json:"version,omitempty"` // of Kubernetes
	Reachable bool      `json:"reachable"`
	Findings  []Finding `json:"findings"`
}

// Count is how many findings have a state.
func (r *Report) Count(s State) int {
	n := 0
	for _, f := range r.Findings {
		if f.State == s {
			n++
		}
	}
	return n
}

// about is the subject of the findings of a check.
type about struct {
	report            *Report
	area              Area
	loadline, service string
}

func (a about) add(s State, check, do, format string, args []any) {
	a.report.Findings = append(a.report.Findings, Finding{
		Area: a.area, Check: check, LoadLine: a.loadline, Service: a.service,
		State: s, Found: fmt.Sprintf(format, args...), Do: do,
	})
}

func (a about) ok(check, format string, args ...any) { a.add(OK, check, "", format, args) }

func (a about) note(check, do, format string, args ...any) { a.add(Note, check, do, format, args) }

func (a about) warn(check, do, format string, args ...any) { a.add(Warning, check, do, format, args) }

func (a about) fault(check, do, format string, args ...any) { a.add(Fault, check, do, format, args) }

// when adds a finding with a computed state.
func (a about) when(s State, check, do, format string, args ...any) {
	a.add(s, check, do, format, args)
}
