package pipeline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
)

// Settings that determine what an evaluation finds.
type Settings struct {
	App     string   `json:"app"` // name, with its scale
	Stretch string   `json:"stretch"`
	Seeds   int      `json:"seeds"` // of the first look
	Axes    []string `json:"axes"`
	Today   string   `json:"today"`
	// TodayGuard is the fallback rule of a LoadLine that runs today.
	TodayGuard string `json:"today_guard,omitempty"`
	// TodayAssumed: what the user runs is not known.
	TodayAssumed bool `json:"today_assumed,omitempty"`
	// TodayWithout is what today's figures leave out.
	TodayWithout []string `json:"today_without,omitempty"`

	Baselines []string `json:"baselines"`
	Cluster   string   `json:"cluster,omitempty"`
	// NeighboursGiven: those of the cluster are the user's.
	NeighboursGiven bool     `json:"neighbours_given,omitempty"`
	Known           []string `json:"known,omitempty"` // figures that the user gave

	Prefer    Preference `json:"prefer"`
	Candidate string     `json:"candidate,omitempty"` // that was given instead of chosen
	MaxChurn  float64    `json:"max_churn"`
	Models    []string   `json:"models"` // digests of the candidates, or policies that need no model
	// Rules alone are judged, without candidates.
	Rules bool `json:"rules_only,omitempty"`
}

func (j EvaluationSettings) settings(f *Folder, candidates []Outcome) Settings {
	today, known := j.today(f)
	s := Settings{
		App: f.App.Name, Stretch: j.Stretch.String(), Seeds: j.Seeds, Axes: j.Axes, Today: today, TodayAssumed: !known,
		TodayWithout: j.Objects.LeftOut, TodayGuard: j.todayGuard(f),
		Baselines: j.Baselines, Cluster: j.Cluster.String(),
		NeighboursGiven: j.NeighboursGiven, Known: f.known,
		Prefer: j.Prefer, Candidate: j.Candidate, MaxChurn: j.MaxChurn,
		Rules: j.Rules,
	}
	for _, c := range candidates {
		s.Models = append(s.Models, cmp.Or(c.SHA256, c.Policy))
	}
	slices.Sort(s.Models)
	return s
}

// Opening is one use of the test part. Every further one with other settings makes it more
// likely that some result is a lucky one.
type Opening struct {
	Settings Settings `json:"settings"`
}

// OpeningsFile has the settings with which the test part was used. It is written before the first
// run, so that an interrupted evaluation counts too.
const OpeningsFile = "openings.json"

type openingsFile struct {
	Format   int       `json:"format"`
	Digest   string    `json:"subject_digest"`
	Openings []Opening `json:"openings"`
}

// open the test part: the earlier uses with other settings. The use is recorded.
func (f *Folder) open(now Settings) ([]Opening, error) {
	path := filepath.Join(f.Dir, OpeningsFile)
	var kept openingsFile
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if kept.Format > RunFormat { // its openings must not be dropped: they count
		return nil, &OtherVersionError{Path: path, Format: kept.Format}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s cannot be read: %w; restore it, or train again into another folder", path, err)
	}
	if kept.Digest != f.Subject.Digest {
		kept = openingsFile{} // of another history
	}
	earlier := slices.DeleteFunc(append([]Opening{}, kept.Openings...), func(o Opening) bool { return reflect.DeepEqual(o.Settings, now) })
	if len(earlier) < len(kept.Openings) {
		return earlier, nil
	}
	kept = openingsFile{RunFormat, f.Subject.Digest, append(kept.Openings, Opening{now})}
	return earlier, writeJSON(path, kept, " ")
}

// finished is the evaluation of the same candidates with the same settings by the same program;
// nil = none.
func (f *Folder) finished(now Settings, program string) *Evaluation {
	e, err := readEvaluation(f, evaluationFile(now))
	if err != nil || e.Program != program || !reflect.DeepEqual(e.Settings, now) {
		return nil
	}
	return e
}
