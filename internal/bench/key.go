package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
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
	Extra    any             `json:",omitempty"` // of preparations
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
	content, err := policyByContent(s.Policy)
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
		Settings: s.GuardSettings, Interval: s.Interval, Axes: s.Axes, Begin: s.Begin, Partial: s.Partial, Extra: extra,
	})
}

// policyByContent identifies a trained policy by the content of its file: the same path may
// have another model later.
func policyByContent(spec string) (string, error) {
	name, settings, _ := strings.Cut(spec, ":")
	if m, err := policy.Named(name); err != nil || !m.ReadsFile() {
		return spec, err
	}
	fields := strings.Split(settings, ",")
	for i, field := range fields {
		path, isFile := strings.CutPrefix(strings.TrimSpace(field), "file=")
		if !isFile {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("name a run of %s: %w", spec, err)
		}
		sum := sha256.Sum256(content)
		fields[i] = "sha256=" + hex.EncodeToString(sum[:])
	}
	return name + ":" + strings.Join(fields, ","), nil
}
