package controller

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy"
	"github.com/loadline/loadline/internal/policy/drpc"
	"github.com/loadline/loadline/internal/registry"
	"github.com/loadline/loadline/internal/resource"
)

// decider is who is to be followed, as long as the ladder finds nothing against it.
type decider struct {
	policy loadline.Policy
	// students, if it is they who decide: the policy is theirs then, as long as they
	// have not joined a fleet.
	students *drpc.Model
	name     string // as the status shows it
	id       string // another id is another model
	made     time.Time
	reason   string // v1alpha1's for the condition Fallback, if there is none
	why      string
}

// models finds who decides for an application, and again when that changes.
type models struct {
	named
	dir string // of registries
	app *resource.Application
}

// find the policy that the resource asks for. What is not there, torn, foreign or
// too old is no policy, with the reason: the application is then on its rule.
func (m models) find(ctx context.Context, l *v1alpha1.LoadLine, now time.Time) decider {
	if m.app.Baseline != "" {
		p, err := policy.New(m.app.Baseline, m.app.App)
		if err != nil {
			return decider{reason: v1alpha1.ReasonModelInvalid, why: err.Error()}
		}
		return decider{policy: p, name: m.app.Baseline, id: m.app.Baseline}
	}
	file, d := m.open(ctx, l)
	if file == nil {
		return d
	}
	if d.made.IsZero() {
		d.made = file.Card.Training.To
	}
	if most := l.Spec.Policy.Model.MaxAge; most != nil && !d.made.IsZero() {
		if age := now.Sub(d.made); age > most.Span() {
			return decider{id: d.id + " is old", reason: v1alpha1.ReasonModelOld, why: fmt.Sprintf(
				"%s was trained %s ago, which is more than spec.policy.model.maxAge %v: train another", d.name, age.Round(time.Hour),
				most.Span())}
		}
	}
	if err := d.read(file, m.app.App); err != nil {
		return decider{id: d.id, reason: v1alpha1.ReasonModelInvalid, why: fmt.Sprintf("%s: %v", d.name, err)}
	}
	return d
}

// open the model's file where the resource says that it is.
func (m models) open(ctx context.Context, l *v1alpha1.LoadLine) (*modelfile.File, decider) {
	if c := l.Spec.Policy.Model.ConfigMap; c != nil {
		key := c.Key
		if key == "" {
			key = "model.safetensors"
		}
		name := "ConfigMap " + c.Name
		data, err := m.configMap(ctx, c.Name, key)
		if err != nil {
			return nil, decider{id: err.Error(), reason: v1alpha1.ReasonNoModel, why: "spec.policy.model.configMap: " + err.Error()}
		}
		file, err := modelfile.Read(bytes.NewReader(data))
		if err != nil {
			return nil, decider{id: err.Error(), reason: v1alpha1.ReasonModelInvalid, why: fmt.Sprintf("%s key %s: %v", name, key, err)}
		}
		return file, decider{name: name, id: fmt.Sprintf("%s %s %x", c.Name, key, sha256.Sum256(data))}
	}
	return m.fromRegistry(l)
}

func (m models) fromRegistry(l *v1alpha1.LoadLine) (*modelfile.File, decider) {
	where, _, err := resource.RegistryOf(l, m.dir)
	if err != nil {
		return nil, decider{id: err.Error(), reason: v1alpha1.ReasonNoModel, why: err.Error()}
	}
	version, path, err := versionOf(where)
	switch {
	case errors.Is(err, registry.ErrNone) || errors.Is(err, os.ErrNotExist):
		return nil, decider{id: err.Error(), reason: v1alpha1.ReasonNoModel,
			why: fmt.Sprintf("no model of %s in %s: %v", where.Application, where.Dir, err)}
	case err != nil:
		return nil, decider{id: err.Error(), reason: v1alpha1.ReasonModelInvalid, why: err.Error()}
	case version.Policy != "":
		why := fmt.Sprintf("version %d of %s is the policy %s, which has no model: set spec.policy.baseline to it instead of spec.policy.model",
			version.Version, where.Application, version.Policy)
		return nil, decider{id: why, reason: v1alpha1.ReasonNoModel, why: why}
	}
	file, err := modelfile.Open(path)
	if err != nil {
		return nil, decider{id: err.Error(), reason: v1alpha1.ReasonModelInvalid, why: err.Error()}
	}
	return file, decider{name: fmt.Sprintf("%s version %d", where.Application, version.Version), id: where.Dir + " " + version.SHA256,
		made: version.At}
}

// versionOf a registry: the one that is asked for, or the one in charge.
func versionOf(where resource.Registry) (registry.Promotion, string, error) {
	r := registry.Open(where.Dir)
	if where.Version == 0 {
		return r.Current(where.Application)
	}
	return r.Version(where.Application, where.Version)
}
