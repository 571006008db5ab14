package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/policy/drpc/trainer"
)

// schoolCheckpoint is the folder from which an interrupted schooling goes on.
type schoolCheckpoint struct {
	folder string // empty = there is none
	lock   io.Closer
	saved  time.Time
	err    error // of the last time
}

// CheckpointEvery is how much work a power cut may cost.
const CheckpointEvery = 5 * time.Minute

// schoolState is the file in it.
const schoolState = "school.state"

// openSchoolCheckpoint takes the folder for this process.
func openSchoolCheckpoint(folder string) (*schoolCheckpoint, error) {
	c := &schoolCheckpoint{folder: folder, saved: time.Now()}
	if folder == "" {
		return c, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, usagef("--checkpoint: %w", err)
	}
	var err error
	if c.lock, err = atomicfile.Lock(folder); err != nil {
		return nil, fmt.Errorf("--checkpoint: %w", err)
	}
	return c, nil
}

func (c *schoolCheckpoint) close() error {
	if c.lock == nil {
		return nil
	}
	return c.lock.Close()
}

func (c *schoolCheckpoint) path() string { return filepath.Join(c.folder, schoolState) }

// resume goes on where the folder says; without a state there, at the beginning.
func (c *schoolCheckpoint) resume(s *trainer.Trainer, stderr io.Writer) error {
	if c.folder == "" {
		return nil
	}
	data, err := os.ReadFile(c.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--checkpoint: %w", err)
	}
	if err := s.Restore(data); err != nil {
		return fmt.Errorf("--checkpoint: %s: %w: give the flags that it was begun with, or another folder, or remove the file to begin anew", filepath.ToSlash(c.path()), err)
	}
	fmt.Fprintf(stderr, "going on after %d steps, from %s\n", s.Steps(), filepath.ToSlash(c.path()))
	return nil
}

// save what the school is between two units: now, or if it is time to.
func (c *schoolCheckpoint) save(s *trainer.Trainer, now bool) {
	if c.folder == "" || !now && time.Since(c.saved) < CheckpointEvery {
		return
	}
	c.err = atomicfile.Write(c.path(), func(w io.Writer) error { _, err := w.Write(s.Save()); return err })
	c.saved = time.Now()
}

// end says how a schooling ended, for whoever asked for it to end.
func (c *schoolCheckpoint) end(ctx context.Context, s *trainer.Trainer, err error) error {
	c.save(s, true)
	if err != nil && ctx.Err() != nil && c.folder != "" && c.err == nil {
		return Interruptedf("interrupted after %d steps; the same command goes on from %s", s.Steps(), filepath.ToSlash(c.folder))
	}
	return errors.Join(err, c.err)
}
