package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/loadline/loadline/internal/atomicfile"
)

// Version of the folder's layout. A newer one is rejected.
const Version = 1

// ManifestFile is the manifest's name in the folder.
const ManifestFile = "manifest.json"

// ErrNoHistory: the folder has no history.
var ErrNoHistory = errors.New("no history")

// Manifest describes a history: its source and what is missing. It is manifest.json in the
// folder, written atomically at every change.
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
	Complete  bool          `json:"complete"` // all parts are present
	// Autoscalers are those in use at the end; none = the source does not show any.
	Autoscalers []Autoscaler `json:"autoscalers,omitempty"`
	Absent      []Absence    `json:"absent,omitempty"`
	Notes       []string     `json:"notes,omitempty"` // remarks: counter resets, clock jumps
}

// Absence is a metric that the source did not have.
type Absence struct {
	Of     string `json:"of"`     // "service", "call" or "node"
	Metric string `json:"metric"` // its name
	Reason string `json:"reason"` // the likely one
	Cost   string `json:"cost"`   // its effect on the fit
}

// mostSteps is beyond any real history (31 years at 15 s), so that a damaged manifest cannot
// exhaust the memory.
const mostSteps = 1 << 26

// PartOf is the default number of steps per part: a day, or more if steps are so long that a
// file would have only a few rows.
func PartOf(step time.Duration) int {
	return max(fewestSteps, int(24*time.Hour/max(step, time.Millisecond)))
}

const fewestSteps = 1000

// Parts is the number of parts.
func (m Manifest) Parts() int { return (m.Steps + m.Part - 1) / m.Part }

// Span of a part: its steps are [from, to).
func (m Manifest) Span(part int) (from, to int) {
	return part * m.Part, min((part+1)*m.Part, m.Steps)
}

// At is the end of step i.
func (m Manifest) At(i int) time.Time { return m.Start.Add(time.Duration(i) * m.Step) }

// Validate reports every fault.
func (m Manifest) Validate() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if m.Step < time.Millisecond || m.Step%time.Millisecond != 0 {
		add("step_ns %d must be positive, in whole milliseconds", int64(m.Step))
	} else if m.Steps > 0 && time.Duration(m.Steps) > (1<<62)/m.Step {
		add("%d steps of %v are more than time can count", m.Steps, m.Step)
	}
	if m.Steps < 1 || m.Steps > mostSteps {
		add("steps %d must be from 1 to %d", m.Steps, mostSteps)
	}
	if m.Part < 1 {
		add("part_steps %d must be at least 1", m.Part)
	}
	if y := m.Start.Year(); y < 1970 || y > 2261 || m.Start.Nanosecond()%int(time.Millisecond) != 0 {
		add("start %s must be an instant of the years 1970 to 2261, in whole milliseconds", m.Start.Format(time.RFC3339Nano))
	}
	return errors.Join(faults...)
}

// ReadManifest reads the manifest of the history in a folder.
func ReadManifest(dir string) (Manifest, error) {
	path := filepath.Join(dir, ManifestFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, fmt.Errorf("%w in %s: there is no %s; make one with loadline history pull, import or record", ErrNoHistory,
			dir, ManifestFile)
	}
	if err != nil {
		return Manifest{}, err
	}
	m, err := parseManifest(data)
	if err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func parseManifest(data []byte) (Manifest, error) {
	// The version first: a newer manifest may differ in everything else.
	var v struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return Manifest{}, fmt.Errorf("not a history's manifest: %w", err)
	}
	if err := checkVersion(v.Version); err != nil {
		return Manifest{}, err
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return Manifest{}, fmt.Errorf("not a history's manifest: %w", err)
	}
	m.Start = m.Start.UTC()
	return m, m.Validate()
}

func checkVersion(v int) error {
	switch {
	case v < 1:
		return fmt.Errorf("version %d: not a history's manifest", v)
	case v > Version:
		return fmt.Errorf("version %d is newer than this program reads (%d): use the Loadline that wrote it, or a later one", v, Version)
	}
	return nil
}

func writeManifest(dir string, m Manifest) error {
	m.Version = Version
	m.Start = m.Start.UTC()
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, ManifestFile), func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(append(data, '\n')))
		return err
	})
}
