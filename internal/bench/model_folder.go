package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/profile"
	"github.com/loadline/loadline/internal/shard"
)

// ModelFolder stores trained models: KEY.safetensors, and KEY.json with its record, written after
// it; and profiles of applications. Several processes may train into one folder at once.
type ModelFolder struct {
	dir     string
	program string

	claims *shard.Claims // nil = no other process trains into it

	mu     sync.Mutex
	atWork map[string]chan struct{} // by key; closed when done
}

// Share the work with other processes that train into the folder and have the same claims.
func (f *ModelFolder) Share(claims *shard.Claims) { f.claims = claims }

// OpenModelFolder creates a folder if necessary. The program is the version of the code: models of
// other versions are not used.
func OpenModelFolder(dir, program string) (*ModelFolder, error) {
	if strings.Contains(dir, ",") {
		return nil, fmt.Errorf("folder %q for trained models: must not have a comma in its name, since policies separate their "+
			"settings by commas", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open a folder for trained models: %w", err)
	}
	return &ModelFolder{dir: dir, program: program, atWork: map[string]chan struct{}{}}, nil
}

// Train trains a model, or returns it if it was trained before. If another process is training
// it, the call waits. Progress may be nil.
func (f *ModelFolder) Train(ctx context.Context, t TrainingTask, progress func(share float64)) (*Trained, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	key, err := t.key(f.program)
	if err != nil {
		return nil, err
	}
	done, err := f.claim(ctx, key)
	if err != nil {
		return nil, err
	}
	defer done()
	if kept := f.find(key); kept != nil {
		return kept, nil
	}
	if progress == nil {
		progress = func(float64) {}
	}
	if err := f.train(ctx, key, t, progress); err != nil {
		return nil, fmt.Errorf("train %s on %s, %s, seed %d: %w", t.Method.Name, t.App.Name, t.Setting.Name, t.Seed, err)
	}
	// The written record counts: numbers are rounded there, and a resumed comparison must give
	// the same figures.
	kept := f.find(key)
	if kept == nil {
		return nil, fmt.Errorf("model %s was written to %s and is not there", key, f.dir)
	}
	return kept, nil
}

func (f *ModelFolder) train(ctx context.Context, key string, t TrainingTask, progress func(float64)) error {
	training, err := t.training(func(ctx context.Context, progress func(float64)) (*profile.Set, error) {
		return f.profiles(ctx, t.App, progress)
	}, progress)
	if err != nil {
		return err
	}
	trained, err := t.Method.Train(ctx, training)
	if err != nil {
		return err
	}
	file, err := trained.Model.File(nil)
	if err == nil {
		err = file.Write(f.model(key))
	}
	if err != nil {
		return err
	}
	made := trainedOf(trained)
	made.Format, made.Key, made.Learner, made.Setting, made.Steps, made.Seed = trainedFormat, key, t.Method.Name, t.Setting, t.Steps,
		t.Seed
	if made.Sum, err = sumOf(f.model(key)); err != nil {
		return err
	}
	return atomicfile.Write(f.record(key), func(w io.Writer) error { return json.NewEncoder(w).Encode(made) })
}

// claim a key, so that no other goroutine trains it meanwhile, and no other process that shares the
// folder.
func (f *ModelFolder) claim(ctx context.Context, key string) (done func(), err error) {
	here, err := f.claimHere(ctx, key)
	if err != nil {
		return nil, err
	}
	for {
		everywhere, err := f.claims.Claim("model-" + key)
		if err == nil {
			return func() { everywhere(); here() }, nil
		}
		if errors.Is(err, shard.ErrLater) {
			select {
			case <-time.After(shard.Poll):
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		here()
		return nil, err
	}
}

func (f *ModelFolder) claimHere(ctx context.Context, key string) (done func(), err error) {
	for {
		f.mu.Lock()
		other := f.atWork[key]
		if other == nil {
			mine := make(chan struct{})
			f.atWork[key] = mine
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				delete(f.atWork, key)
				close(mine)
			}, nil
		}
		f.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// find a stored model. A missing or torn one, or one that does not match its record, is trained
// again.
func (f *ModelFolder) find(key string) *Trained {
	text, err := os.ReadFile(f.record(key))
	if err != nil {
		return nil
	}
	t := &Trained{}
	if json.Unmarshal(text, t) != nil || t.Format != trainedFormat || t.Key != key {
		return nil
	}
	if sum, err := sumOf(f.model(key)); err != nil || sum != t.Sum {
		return nil
	}
	t.path = f.model(key)
	return t
}

func (f *ModelFolder) model(key string) string  { return filepath.Join(f.dir, key+".safetensors") }
func (f *ModelFolder) record(key string) string { return filepath.Join(f.dir, key+".json") }

func sumOf(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}
