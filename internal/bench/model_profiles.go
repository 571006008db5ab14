package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/policy/msars/trainer"
	"github.com/loadline/loadline/internal/profile"
)

// profiles of an application's services, measured once for all models of the folder: they
// depend on nothing else. Stored as profiles-KEY.json; an unreadable one is measured again.
// Progress may be nil.
func (f *ModelFolder) profiles(ctx context.Context, app *loadline.App, progress func(share float64)) (*profile.Set, error) {
	text, err := json.Marshal(struct {
		Format  int
		Program string
		App     *loadline.App
	}{trainedFormat, f.program, app})
	if err != nil {
		return nil, fmt.Errorf("name profiles of %s: %w", app.Name, err)
	}
	sum := sha256.Sum256(text)
	name := "profiles-" + hex.EncodeToString(sum[:12])
	done, err := f.claim(ctx, name)
	if err != nil {
		return nil, err
	}
	defer done()
	path := filepath.Join(f.dir, name+".json")
	if kept := readProfiles(path); kept != nil {
		return kept, nil
	}
	set := &profile.Set{App: app.Name}
	if _, err := trainer.Complete(ctx, app, set, progress); err != nil {
		return nil, err
	}
	if err := atomicfile.Write(path, set.Write); err != nil {
		return nil, err
	}
	// The written profiles count, as for models.
	kept := readProfiles(path)
	if kept == nil {
		return nil, fmt.Errorf("profiles of %s were written to %s and cannot be read", app.Name, path)
	}
	return kept, nil
}

// readProfiles reads stored profiles; nil if there are none, or none that can be read.
func readProfiles(path string) *profile.Set {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	set, err := profile.ReadSet(file, path)
	if err != nil {
		return nil
	}
	return set
}
