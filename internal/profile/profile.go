package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/loadline/loadline"
)

// Profile is the measurement of one service in one version and one size.
type Profile struct {
	Service    string  `json:"service"`
	Version    string  `json:"version,omitempty"` // empty = the deployed mix
	Size       Size    `json:"size"`              // of an instance
	Percentile float64 `json:"percentile"`
	// IncludesCalls means that a visit's calls to others are in its latency, because
	// the history has no other. It cannot be used for a split.
	IncludesCalls bool    `json:"includes_calls,omitempty"`
	Points        []Point `json:"points"` // by load, rising
}

// Size is a loadline.Size with the names that the file has for its fields.
type Size struct {
	CPURequest    float64 `json:"cpu_request_cores"`
	CPULimit      float64 `json:"cpu_limit_cores"`
	MemoryRequest int64   `json:"memory_request_bytes"`
	MemoryLimit   int64   `json:"memory_limit_bytes"`
}

// Point is the latency at one load.
type Point struct {
	Load    float64 `json:"load"`            // visits per second and instance
	Latency float64 `json:"latency_seconds"` // at the profile's percentile; 0 if saturated
	// Error is the standard error of the latency: over the seeds, or over time.
	Error float64 `json:"error_seconds"`
	Steps int     `json:"steps,omitempty"` // of the history that it is a mean of
	// Saturated means that more visits failed or did not finish than the percentile
	// allows: there is no latency then.
	Saturated bool `json:"saturated,omitempty"`
}

// ErrAbsent is returned for a service without measurements.
var ErrAbsent = errors.New("no load-latency profile")

// Saturation is the lowest load at which the service was saturated; false if it
// never was.
func (p *Profile) Saturation() (float64, bool) {
	for _, pt := range p.Points {
		if pt.Saturated {
			return pt.Load, true
		}
	}
	return 0, false
}

// Validate returns all errors.
func (p *Profile) Validate() error {
	var faults []error
	if p.Service == "" {
		faults = append(faults, errors.New("service is empty: name the service that was measured"))
	}
	if !(p.Percentile > 0 && p.Percentile < 100) {
		faults = append(faults, fmt.Errorf("percentile %v must be between 0 and 100", p.Percentile))
	}
	last := math.Inf(-1)
	for i, pt := range p.Points {
		switch {
		case !(pt.Load >= 0) || math.IsInf(pt.Load, 0):
			faults = append(faults, fmt.Errorf("points[%d].load %v must be a number from 0 on", i, pt.Load))
		case pt.Load <= last:
			faults = append(faults, fmt.Errorf("points[%d].load %v must be above the one before it, %v", i, pt.Load, last))
		case !pt.Saturated && (!(pt.Latency >= 0) || math.IsInf(pt.Latency, 0)):
			faults = append(faults, fmt.Errorf("points[%d].latency_seconds %v must be a number from 0 on", i, pt.Latency))
		case !(pt.Error >= 0) || math.IsInf(pt.Error, 0):
			faults = append(faults, fmt.Errorf("points[%d].error_seconds %v must be a number from 0 on", i, pt.Error))
		}
		last = pt.Load
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("profile of %q: %w", p.Service, err)
	}
	return nil
}

// Set is the profiles of an application, as stored in a file.
type Set struct {
	// Format of the file. It is set by Write; 0 = 1, as files of earlier releases have it, and sets
	// within model files.
	Format   int       `json:"format,omitempty"`
	App      string    `json:"app"`
	Profiles []Profile `json:"profiles"`
	Missing  []Missing `json:"lacks,omitempty"` // profiles with insufficient data
}

// Find returns the profile of a service as it is deployed, at a percentile; nil
// if there is none. One that includes calls does not count.
func (s *Set) Find(service *loadline.Service, percentile float64) *Profile {
	for i := range s.Profiles {
		p := &s.Profiles[i]
		if p.Service == service.Name && p.Version == "" && !p.IncludesCalls && p.Size == Size(service.Size) && p.Percentile == percentile {
			return p
		}
	}
	return nil
}

// setFormat is the version of the file. A newer one is refused.
const setFormat = 1

// Write writes the set as JSON.
func (s *Set) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	file := *s
	file.Format = setFormat
	return enc.Encode(file)
}

// ReadSet reads and validates the output of Write. The name is for errors.
func ReadSet(r io.Reader, name string) (*Set, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	// The format first: a newer file may differ in everything else.
	var made struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &made); err == nil && made.Format > setFormat {
		return nil, fmt.Errorf("%s has format %d, and this program reads %d: use the loadline that wrote it, or measure again with "+
			"loadline profile --out", name, made.Format, setFormat)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var s Set
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("%s is not a file written by loadline profile --out: %w", name, err)
	}
	var faults []error
	for i := range s.Profiles {
		faults = append(faults, s.Profiles[i].Validate())
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.Format = 0
	return &s, nil
}

// Missing is a profile with insufficient data.
type Missing struct {
	Service string `json:"service"`
	Size    *Size  `json:"size,omitempty"` // nil = all
	Reason  string `json:"reason"`
}
