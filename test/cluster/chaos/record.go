package chaos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"
)

// Record is what a run leaves. Instants are of the one clock of the machine. Lists are in the
// order of time.
type Record struct {
	Seed         uint64
	Began, Ended time.Time
	Settings     Settings

	Faults    []Happened
	Specs     []Spec
	Changes   []Change
	Writes    []Write
	Holders   []Holder
	Processes []Process
	Decisions []Decision
	Logged    []Logged
	Pods      []Pod
	Outcomes  []Outcome
	Usage     []Usage
	Left      []Left
}

// Settings of the guards of all applications of the run.
type Settings struct {
	MaxAge   time.Duration // guard.data.maxAge
	Window   time.Duration // guard.observed.window
	Settle   time.Duration // guard.starting.settle
	Interval time.Duration // between passes
	Disk     int64         // bytes that the decision logs of one process may take
	// Subject and Rule are the applications whose burn is compared.
	Subject, Rule string
}

// Happened is a fault that took place: Begin when it was in full effect, End before it was undone.
type Happened struct {
	Kind       Kind
	Arg        int
	Begin, End time.Time
	Process    string   // of faults of one Loadline: its name
	Pods       []string // that were not measured, NAMESPACE/NAME
}

// Spec is a LoadLine's spec from an instant on.
type Spec struct {
	At       time.Time
	App      string // its namespace
	Services []ServiceSpec
}

// ServiceSpec is a service of a spec.
type ServiceSpec struct {
	Name     string
	Min, Max int
	Optional bool
	ByKEDA   bool
}

// Change of a workload's replicas, as the API server has stored it.
type Change struct {
	At           time.Time // when the recorder saw it
	App, Service string
	From, To     int
	Manager      string // field manager of the replicas
	Version      string // resource version of the workload
	Gap          bool   // versions before it may be missing: the watch was interrupted
}

// Write of replicas by a Loadline process, as the proxy before the API server saw it.
type Write struct {
	Received     time.Time
	Process      string
	App, Service string
	Replicas     int
	Code         int    // answer of the API server; 0 = none
	Version      string // of the workload after it
}

// stored reports whether the API server has taken the write.
func (w *Write) stored() bool { return w.Code >= 200 && w.Code < 300 }

// answered is the record with the answers that were lost: a write whose sender did not wait for the
// answer may have been stored all the same. A change that no answered write has made is taken for
// that of the last unanswered one before it with its replicas, each for one change.
func (r *Record) answered() *Record {
	known := map[string]bool{}
	for i := range r.Writes {
		known[r.Writes[i].Version] = true
	}
	whole := *r
	whole.Writes = slices.Clone(r.Writes)
	for i := range r.Changes {
		c := &r.Changes[i]
		if c.Manager != Manager || known[c.Version] {
			continue
		}
		var last *Write
		for j := range whole.Writes {
			w := &whole.Writes[j]
			if w.Code == 0 && w.App == c.App && w.Service == c.Service && w.Replicas == c.To && !w.Received.After(c.At) {
				last = w
			}
		}
		if last != nil {
			last.Code, last.Version = http.StatusOK, c.Version
		}
	}
	return &whole
}

// Holder of the lease from an instant on; "" = none.
type Holder struct {
	At       time.Time
	Identity string
	Process  string // "" = not known, or none
}

// Process is one life of a Loadline.
type Process struct {
	Name         string
	Began, Ended time.Time
	Killed       bool // by the plan
}

// Decision is one pass' decision about one service, from the decision log.
type Decision struct {
	Process      string
	App, Service string
	At           time.Time
	Applied      time.Time // zero: it was not
	From, To     int       // replicas that run; 0 in a brownout
	Planned      bool      // it changes replicas or begins or ends a brownout
	Brownout     bool      // begins, ends or continues one
	Why          string
	Min, Max     int // bounds of the service then
	// Visible: the rate or the CPU of the service was measured, and not too old.
	Visible bool
	Error   string
}

// reduces reports whether the decision was applied and takes replicas away.
func (d *Decision) reduces() bool { return d.Planned && !d.Applied.IsZero() && d.To < d.From }

// Logged is a change in a process' own log, which it writes also when its disk is full.
type Logged struct {
	Process      string
	App, Service string
	To           int
	Why          string
	Restored     bool // a workload after a brownout that nothing decides any more
}

// Pod of a service: when it became ready, and when it stopped being so; zero = not yet.
type Pod struct {
	App, Service, Name string
	Ready, Gone        time.Time
}

// Outcome of an application's requests so far, by the player.
type Outcome struct {
	At          time.Time
	App         string
	Ended, Over float64
}

// Usage of a process.
type Usage struct {
	Process    string
	At         time.Time
	Heap       float64 // bytes in use
	Goroutines float64
	Series     float64 // of its own metrics
	Disk       int64   // bytes of its decision logs
}

// Left is a service after the run, when everything has had time to recover.
type Left struct {
	App, Service string
	Replicas     int
	BrownedOut   bool // status.brownedOut has it
	Finalizer    bool // the LoadLine has the finalizer of brownouts
}

// Save writes a record, so that it can be looked at and checked again.
func (r *Record) Save(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o666)
}

// Load reads a record.
func Load(path string) (*Record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("record %s: %w", path, err)
	}
	return &r, nil
}
