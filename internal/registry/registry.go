package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/suggest"
)

// Format of the files. Another one is detected and rejected.
const Format = 1

const (
	currentFile   = "current.json"
	promotionFile = "promotion.json"
	modelFile     = "model.safetensors"
)

// CardFile of a version, in readable form.
const CardFile = "card.md"

// Registry is a folder of promoted policies.
type Registry struct {
	dir string
	// before is called before every step that changes the folder. Tests make it fail, like a
	// full disk or a kill.
	before func(step string) error
}

// Open opens a registry; the first promotion creates the folder.
func Open(dir string) *Registry {
	return &Registry{dir: dir, before: func(string) error { return nil }}
}

// Promotion is a version and its reason, promotion.json.
type Promotion struct {
	Format  int    `json:"format"`
	App     string `json:"app"`
	Version int    `json:"version"`
	Former  int    `json:"former"` // version that was current before; 0 = none

	Candidate string `json:"candidate"`
	// Policy that needs no model, in the notation of policies: the version has no model file. "" =
	// it has one.
	Policy      string             `json:"policy,omitempty"`
	Formulation string             `json:"formulation"`
	SHA256      string             `json:"sha256"` // of the model file
	Training    modelfile.Training `json:"training"`
	Prefer      string             `json:"prefer,omitempty"`
	Verdict     string             `json:"verdict"`
	Forced      bool               `json:"forced"` // although the verdict was another
	// Fallback rule and axes with which it was judged.
	Fallback string             `json:"fallback,omitempty"`
	Axes     []string           `json:"axes,omitempty"`
	Results  []modelfile.Result `json:"results"`
	At       time.Time          `json:"at"`
	By       string             `json:"by"`
}

// current names the current version, current.json.
type current struct {
	Format  int       `json:"format"`
	App     string    `json:"app"`
	Version int       `json:"version"`
	Since   time.Time `json:"since"`
}

// App is one application's versions.
type App struct {
	Name     string      `json:"name"`
	Current  int         `json:"current"`  // 0 = none yet
	Versions []Promotion `json:"versions"` // rising
}

// ErrNone is returned where no version was promoted.
var ErrNone = errors.New("nothing was promoted")

// Apps lists the applications of the registry, by name.
func (r *Registry) Apps() ([]App, error) {
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w yet: there is no registry %s; loadline promote makes one", ErrNone, r.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("open registry: %w", err)
	}
	all := []App{}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		a, err := r.App(e.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// App reads one application's versions.
func (r *Registry) App(name string) (App, error) {
	a := App{Name: name, Versions: []Promotion{}}
	if err := checkName(name); err != nil {
		return a, err
	}
	entries, err := os.ReadDir(filepath.Join(r.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return a, fmt.Errorf("open registry: %w", err)
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil || !e.IsDir() || n < 1 {
			continue
		}
		p, err := r.promotion(name, n)
		if err != nil {
			return a, err
		}
		a.Versions = append(a.Versions, p)
	}
	slices.SortFunc(a.Versions, func(x, y Promotion) int { return x.Version - y.Version })
	now, err := r.current(name)
	if err != nil {
		return a, err
	}
	a.Current = now.Version
	return a, nil
}

// Current is the current version of an application and the path of its model, after checking
// its digest; "" if it is a policy that needs none.
func (r *Registry) Current(name string) (Promotion, string, error) {
	now, err := r.current(name)
	if err != nil {
		return Promotion{}, "", err
	}
	if now.Version == 0 {
		return Promotion{}, "", fmt.Errorf("%w for %s in %s%s", ErrNone, name, r.dir, r.hint(name))
	}
	return r.intact(name, now.Version)
}

// Version is one of an application's versions, current or not, and the path of its model, after
// checking its digest.
func (r *Registry) Version(name string, version int) (Promotion, string, error) {
	return r.intact(name, version)
}

// intact reads a version and checks the digest of its model.
func (r *Registry) intact(name string, version int) (Promotion, string, error) {
	p, err := r.promotion(name, version)
	if err != nil {
		return p, "", err
	}
	if p.Policy != "" {
		return p, "", nil
	}
	path := r.modelPath(name, version)
	if digestOf(path) != p.SHA256 {
		return p, "", fmt.Errorf("%s is not the model that was promoted: it is missing, damaged or changed; promote again, or roll "+
			"back with --rollback", path)
	}
	return p, path, nil
}

func (r *Registry) hint(name string) string {
	entries, _ := os.ReadDir(r.dir)
	var known []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			known = append(known, e.Name())
		}
	}
	if len(known) == 0 {
		return ""
	}
	return suggest.Hint(name, known)
}

// Folder of a version.
func (r *Registry) Folder(name string, version int) string { return r.folder(name, version) }

func (r *Registry) folder(name string, version int) string {
	return filepath.Join(r.dir, name, fmt.Sprintf("%04d", version))
}

func (r *Registry) modelPath(name string, version int) string {
	return filepath.Join(r.folder(name, version), modelFile)
}

func (r *Registry) current(name string) (current, error) {
	var c current
	path := filepath.Join(r.dir, name, currentFile)
	err := readVersioned(path, &c)
	if errors.Is(err, fs.ErrNotExist) {
		return current{}, nil
	}
	if err == nil && (c.App != name || c.Version < 1) {
		err = fmt.Errorf("%s names version %d of %s, not of %s: it was copied or changed; promote again", path, c.Version, c.App, name)
	}
	return c, err
}

func (r *Registry) promotion(name string, version int) (Promotion, error) {
	var p Promotion
	path := filepath.Join(r.folder(name, version), promotionFile)
	err := readVersioned(path, &p)
	if err == nil && (p.App != name || p.Version != version) {
		err = fmt.Errorf("%s is of version %d of %s: it was copied or changed; remove its folder", path, p.Version, p.App)
	}
	return p, err
}

// readVersioned reads a file of the registry and rejects other formats.
func readVersioned(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("open registry: %w", err)
	}
	var made struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &made); err != nil {
		return fmt.Errorf("%s cannot be read: %w; restore it, or promote into another --registry", path, err)
	}
	if made.Format != Format {
		return fmt.Errorf("%s has format %d, and this program reads %d: use the loadline that wrote it, or promote into another "+
			"--registry", path, made.Format, Format)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s cannot be read: %w; restore it, or promote into another --registry", path, err)
	}
	return nil
}

// checkName rejects names that are not valid folder names.
func checkName(name string) error {
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\`) {
		return fmt.Errorf("application name %q must be a word that can name a folder: train again with --name", name)
	}
	return nil
}

func digestOf(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
