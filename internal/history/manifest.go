package history

import "time"

// Version of the folder's layout. A reader refuses what is newer.
const Version = 1

// Manifest is what a history says of itself: where it comes from and what is
// missing. It is manifest.json in the folder, written whole at every change.
type Manifest struct {
	Version   int           `json:"version"`
	Source    string        `json:"source"` // "prometheus http://...", "record bookinfo ...", "import file.csv"
	Namespace string        `json:"namespace,omitempty"`
	Preset    string        `json:"preset,omitempty"`
	Start     time.Time     `json:"start"` // the end of the first step
	Step      time.Duration `json:"step_ns"`
	Steps     int           `json:"steps"`
	Part      int           `json:"part_steps"` // steps in each part but the last
	By        string        `json:"by,omitempty"`
	Complete  bool          `json:"complete"` // every part is there
	Absent    []Absence     `json:"absent,omitempty"`
	Notes     []string      `json:"notes,omitempty"` // what a reader should know: counter resets, clock jumps
}

// Absence is a metric that the source did not have.
type Absence struct {
	Of     string `json:"of"`     // "service" or "call"
	Metric string `json:"metric"` // its name
	Reason string `json:"reason"` // the likely one
	Cost   string `json:"cost"`   // what it costs the fit
}
