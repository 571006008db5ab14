package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/internal/sim/pool"
	"github.com/loadline/loadline/internal/simulate"
	"github.com/loadline/loadline/internal/workload"
)

// identity is everything that determines a run. Names are excluded: an application with other
// content is another one, whatever its name.
type identity struct {
	Code     string        // the version of the code: engines, control plane and policies
	App      *loadline.App // its SLOs included
	Load     *workload.Workload
	Policy   string
	Perturb  simulate.Perturb
	Engine   string
	CPU      sim.CPUModel
	Duration time.Duration
	WarmUp   time.Duration
	Seed     uint64
	Cluster  pool.Cluster    `json:",omitzero"`
	Guard    string          `json:",omitempty"` // the rule, by content as the policy is
	Settings *guard.Settings `json:",omitempty"` // of the guard
	Interval time.Duration   `json:",omitempty"`
	Axes     []string        `json:",omitempty"`
	Begin    time.Time       `json:",omitzero"`
	Partial  []loadline.SLO  `json:",omitempty"`
	// Announced events; the history that a policy starts with is part of Policy or Extra.
	Announced []loadline.Event `json:",omitempty"`
	Extra     any              `json:",omitempty"` // of preparations
}

// digest is short enough for a file name and long enough to be unique.
func digest(what any) (string, error) {
	text, err := json.Marshal(what)
	if err != nil {
		return "", fmt.Errorf("digest of what determines a result: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12]), nil
}

func keyOf(s simulate.Spec, load *workload.Workload, extra any) (string, error) {
	nameless := *load
	nameless.Name = ""
	content, err := policiesByContent(s)
	if err != nil {
		return "", err
	}
	rule := s.Guard
	if rule != "" {
		if rule, err = policyByContent(rule); err != nil {
			return "", err
		}
	}
	code, err := codeVersion()
	if err != nil {
		return "", err
	}
	return digest(identity{
		Code: code, App: s.App, Load: &nameless, Policy: content, Perturb: s.Perturb, Engine: s.Engine,
		CPU: s.CPU, Duration: s.Duration, WarmUp: s.WarmUp, Seed: s.Seed, Cluster: s.Cluster, Guard: rule,
		Settings: s.GuardSettings, Interval: s.Interval, Axes: s.Axes, Begin: s.Begin, Partial: s.Partial, Announced: s.Announced,
		Extra: extra,
	})
}

// policiesByContent identifies the policies of all applications.
func policiesByContent(s simulate.Spec) (string, error) {
	specs, err := policy.EachApplication(s.Policy, s.App)
	for i := range specs {
		if err == nil {
			specs[i], err = policyByContent(specs[i])
		}
	}
	if err != nil {
		return "", err
	}
	return policy.JoinApplications(s.App, specs), nil
}

// policyByContent identifies a trained policy by the content of its file, and one that starts with
// a history by the files of its folder: the same path may have another model or history later.
func policyByContent(spec string) (string, error) {
	name, settings, _ := strings.Cut(spec, ":")
	m, err := policy.Named(name)
	if err != nil || !m.ReadsFile() && !m.LearnsHistory {
		return spec, err
	}
	fields := strings.Split(settings, ",")
	for i, field := range fields {
		key, path, _ := strings.Cut(strings.TrimSpace(field), "=")
		var sum string
		switch {
		case key == "file" && m.ReadsFile():
			sum, err = sumOf(path)
		case key == "history" && m.LearnsHistory:
			sum, err = sumOfFolder(path)
		default:
			continue
		}
		if err != nil {
			return "", fmt.Errorf("name a run of %s: %w", spec, err)
		}
		fields[i] = "sha256=" + sum
	}
	return name + ":" + strings.Join(fields, ","), nil
}

// sumOfFolder is the digest of all files of a folder, with their names.
func sumOfFolder(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	all := sha256.New()
	for _, e := range entries { // sorted by name
		if !e.Type().IsRegular() {
			continue
		}
		sum, err := sumOf(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(all, "%s %s\n", sum, e.Name())
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}
