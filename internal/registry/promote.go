package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy"
)

// Offer is a policy to be promoted.
type Offer struct {
	App    *loadline.App
	Model  string // path of its file; "" = Promotion.Policy needs none
	SHA256 string // of the file that was evaluated
	// Of the promotion: Candidate, Policy, Prefer, Verdict, Forced, Results, At and By. The rest is
	// filled in; without results those of the model are used.
	Promotion Promotion
	// Files that are kept with the version, by name: what it was judged with.
	Files map[string][]byte
}

// Promote makes a policy the current version of its application. The former versions
// stay in the folder for a rollback.
func (r *Registry) Promote(o Offer) (Promotion, error) {
	name := o.App.Name
	if err := checkName(name); err != nil {
		return Promotion{}, err
	}
	var model policy.Model
	var err error
	if o.Promotion.Policy != "" {
		_, err = policy.New(o.Promotion.Policy, o.App)
	} else {
		model, err = accept(o)
	}
	if err != nil {
		return Promotion{}, err
	}
	now, err := r.App(name)
	if err != nil {
		return Promotion{}, err
	}
	p := o.Promotion
	p.Format, p.App, p.Former, p.Version = Format, name, now.Current, 1
	if n := len(now.Versions); n > 0 {
		p.Version = now.Versions[n-1].Version + 1
	}
	if model != nil {
		file, err := model.File(p.Results)
		if err != nil {
			return Promotion{}, err
		}
		p.Formulation, p.Training, p.Results = model.Method(), file.Card.Training, file.Card.Results
	}
	if i := slices.IndexFunc(now.Versions, func(v Promotion) bool { return v.Version == now.Current }); i >= 0 && same(model, &p,
		&now.Versions[i]) {
		// A damaged file is not current: promoting again repairs it.
		if _, _, err := r.intact(name, now.Current); err == nil {
			return now.Versions[i], fmt.Errorf("%w, %d of %s: nothing was changed", ErrInCharge, now.Current, name)
		}
	}
	if err := r.place(&p, model, o.Files); err != nil {
		return p, fmt.Errorf("promote %s: %w; the former version is still current", p.Candidate, err)
	}
	if err := r.put(name, p.Version, p.At); err != nil {
		return p, fmt.Errorf("promote %s: %w; the former version is still current", p.Candidate, err)
	}
	return p, nil
}

// ErrInCharge is returned when the promoted policy is already the current version.
var ErrInCharge = errors.New("this policy is already the current version")

// same reports whether a version has this model, or this policy that needs none, as it was judged.
func same(model policy.Model, p, version *Promotion) bool {
	if model != nil {
		return sameModel(model, p.Results, version.SHA256)
	}
	return p.Policy == version.Policy && p.Fallback == version.Fallback && slices.Equal(p.Axes, version.Axes)
}

// sameModel reports whether a model encodes to the file of this digest.
func sameModel(m policy.Model, results []modelfile.Result, digest string) bool {
	file, err := m.File(results)
	if err != nil {
		return false
	}
	sum := sha256.New()
	return file.Encode(sum) == nil && hex.EncodeToString(sum.Sum(nil)) == digest
}

// accept reads the model and rejects one that is damaged, of another version or of
// another application, or not the one that was evaluated.
func accept(o Offer) (policy.Model, error) {
	if digestOf(o.Model) != o.SHA256 && o.SHA256 != "" {
		if _, err := os.Stat(o.Model); err != nil {
			return nil, fmt.Errorf("the model is gone: %w; train it again", err)
		}
		return nil, fmt.Errorf("%s is not the file that was evaluated: it is damaged or was changed since; evaluate again", o.Model)
	}
	m, err := policy.OpenModel(o.Model)
	if err != nil {
		return nil, err
	}
	if of := m.TrainedFor(); of != o.App.Name {
		return nil, fmt.Errorf("%s was trained for %s, this is %s: train one on the history of this application", o.Model, of, o.App.Name)
	}
	if _, err := m.Policy(o.App); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Model, err)
	}
	return m, nil
}

// place creates the version's folder atomically.
func (r *Registry) place(p *Promotion, model policy.Model, files map[string][]byte) error {
	home := filepath.Join(r.dir, p.App)
	if err := r.do("make the folder", func() error { return os.MkdirAll(home, 0o755) }); err != nil {
		return err
	}
	removeLeftovers(home)
	temp, err := os.MkdirTemp(home, leftoverPrefix)
	if err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			os.RemoveAll(temp)
		}
	}()
	if model != nil {
		path := filepath.Join(temp, modelFile)
		file, err := model.File(p.Results)
		if err != nil {
			return err
		}
		if err := r.do("write the model", func() error { return file.Write(path) }); err != nil {
			return err
		}
		p.SHA256 = digestOf(path)
	}
	if err := r.do("write the promotion", func() error { return writeJSON(filepath.Join(temp, promotionFile), p) }); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := func(w io.Writer) error { _, err := w.Write(files[name]); return err }
		if err := r.do("write "+name, func() error { return atomicfile.Write(filepath.Join(temp, name), content) }); err != nil {
			return err
		}
	}
	card := func(w io.Writer) error { return p.writeCard(w, model) }
	if err := r.do("write the card", func() error { return atomicfile.Write(filepath.Join(temp, CardFile), card) }); err != nil {
		return err
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	if err := r.do("move it into place", func() error { return os.Rename(temp, r.folder(p.App, p.Version)) }); err != nil {
		return err
	}
	done = true
	return nil
}

// put makes a version current.
func (r *Registry) put(name string, version int, at time.Time) error {
	return r.do("switch to it", func() error {
		return writeJSON(filepath.Join(r.dir, name, currentFile), current{Format, name, version, at.UTC()})
	})
}

// Rollback makes the version current that was promoted before the present one.
func (r *Registry) Rollback(name string, at time.Time) (Promotion, error) {
	now, err := r.current(name)
	if err != nil {
		return Promotion{}, err
	}
	if now.Version == 0 {
		return Promotion{}, fmt.Errorf("%w for %s in %s%s", ErrNone, name, r.dir, r.hint(name))
	}
	present, err := r.promotion(name, now.Version)
	if err != nil {
		return Promotion{}, err
	}
	if present.Former == 0 {
		return Promotion{}, fmt.Errorf("version %d of %s is the first: there is no version to roll back to; use the baseline that "+
			"ran before, or promote another candidate", now.Version, name)
	}
	former, _, err := r.intact(name, present.Former)
	if err != nil {
		return Promotion{}, err
	}
	if err := r.put(name, former.Version, at); err != nil {
		return Promotion{}, fmt.Errorf("roll back to version %d: %w; version %d is still current", former.Version, err, now.Version)
	}
	return former, nil
}

// do runs one step that changes the folder.
func (r *Registry) do(step string, change func() error) error {
	if err := r.before(step); err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	return change()
}

func writeJSON(path string, what any) error {
	text, err := json.MarshalIndent(what, "", " ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return atomicfile.Write(path, func(w io.Writer) error { _, err := w.Write(append(text, '\n')); return err })
}

// leftoverPrefix is the prefix of folders that a killed promotion may leave.
const leftoverPrefix = ".new-"

// removeLeftovers removes folders of a killed promotion. A recent one may belong to another
// running program.
func removeLeftovers(home string) {
	entries, _ := os.ReadDir(home)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), leftoverPrefix) && time.Since(info.ModTime()) > time.Hour {
			os.RemoveAll(filepath.Join(home, e.Name()))
		}
	}
}
