package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/profile"
)

// ModelFolder keeps trained models: KEY.safetensors, and KEY.json with the record of
// it, written after it; beside them profiles of applications. Many may train into one
// folder at once.
type ModelFolder struct {
	dir     string
	program string

	mu     sync.Mutex
	atWork map[string]chan struct{} // by key; closed when it is done
}

// OpenModelFolder makes a folder if it is not there. The program is the version of the
// code: what another one trained is not taken.
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

// Train a model, or find it trained. A caller that asks for one that another process is
// training waits for it. Progress may be nil.
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
	// What counts is what is written: numbers are rounded there, and a comparison
	// that was resumed must come to the same figures.
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

// claim a key, so that no other process trains it meanwhile.
func (f *ModelFolder) claim(ctx context.Context, key string) (done func(), err error) {
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

// find a model that is kept. What is absent, torn or does not fit its record is
// trained again.
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
